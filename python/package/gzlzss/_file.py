"""open and GzipFile: as in gzip, with all cores.

GzipFile is a buffer of Python's io module around a raw file: Source (_source.py) decompresses, Sink
compresses.
"""
from __future__ import annotations

import builtins
import errno
import io
import os
import time
import zlib
from typing import (IO, TYPE_CHECKING, Any, BinaryIO, Dict, Iterator, Literal, Optional, TextIO,
                    Union, cast, overload)

from . import _core
from ._pool import DEFAULT_LEVEL, GZIP, Pool, get
from ._source import CHUNK, END, FLUSH, Source, index_places

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

READ_BUFFER = 128 << 10
WRITE_BUFFER = 128 << 10

# What the modes of zlib's flush are for a stream.
DIRECTIVES = {zlib.Z_PARTIAL_FLUSH: FLUSH, zlib.Z_SYNC_FLUSH: FLUSH, zlib.Z_FULL_FLUSH: 3,
              zlib.Z_BLOCK: FLUSH}


class Sink(io.RawIOBase):
    """Compresses to a file."""

    def __init__(self, file: Any, compressor: _core.Compressor) -> None:
        self._file = file
        self._compressor = compressor
        self._pos = 0
        self._pid = os.getpid()
        # Whether compressed data may be lost, since an exception came between compressing and
        # writing.  Then nothing more is written, so that the file is seen to be incomplete.
        self._is_broken = False
        self._is_over = False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._pos

    def _put(self, data: bytes) -> None:
        # A raw file may take only a part.
        while data:
            n = self._file.write(data)
            if n is None or n == len(data):
                return
            data = data[n:]

    def write(self, data: Any) -> int:
        n = memoryview(data).nbytes
        if self._is_over:
            return n
        self._check()
        self._is_broken = True
        self._put(self._compressor.compress(data))
        self._is_broken = False
        self._pos += n
        return n

    def run(self, directive: int) -> None:
        self._check()
        self._is_broken = True
        self._put(self._compressor.flush(directive))
        self._is_broken = False

    def _check(self) -> None:
        if self._is_broken:
            raise OSError(errno.EIO, "the file is incomplete, as an earlier write has failed")

    def can_end(self) -> bool:
        """Whether the data can be completed: no write has failed, and this is not a child process,
        whose parent still writes the file."""
        return not self._is_broken and self._pid == os.getpid()

    def stop(self) -> None:
        """Ignores writes from now on; the buffer may still have data that it cannot keep. Frees the
        compressor's memory."""
        self._is_over = True
        del self._compressor


def _header_name(filename: Path) -> Optional[bytes]:
    """Returns the name for the header: without folders and .gz, in Latin-1 as RFC 1952 wants it."""
    name = os.path.basename(os.fspath(filename))
    try:
        encoded = name if isinstance(name, bytes) else name.encode("latin-1")
    except UnicodeEncodeError:
        return None
    if encoded.endswith(b".gz"):
        encoded = encoded[:-3]
    return encoded if encoded and b"\0" not in encoded else None


def header_time(mtime: Optional[float]) -> int:
    """Returns the number for a header's time; None is now."""
    return int(time.time() if mtime is None else mtime) & 0xFFFFFFFF


def check_level(level: int) -> int:
    if level == -1:
        return DEFAULT_LEVEL
    if not 0 <= level <= 12:
        raise ValueError(f"Invalid compression level: {level}")
    return level


class GzipFile(io.BufferedIOBase):
    """A .gz file, as gzip.GzipFile, which all cores read and write.

    threads, block_size and pool say who does the work: see Pool. Without them, all files of the
    process share one set of threads.
    """

    def __init__(self, filename: Optional[Path] = None, mode: Optional[str] = None,
                 compresslevel: int = DEFAULT_LEVEL, fileobj: Any = None,
                 mtime: Optional[float] = None, *, threads: int = 0, block_size: int = 0,
                 pool: Optional[Pool] = None) -> None:
        self.fileobj: Any = None
        self.myfileobj: Any = None
        self._buffer: Any = None  # a BufferedReader or a BufferedWriter
        self._raw: Any = None
        self._mtime = mtime
        self._is_ending = False
        if mode and ("t" in mode or "U" in mode):
            raise ValueError(f"Invalid mode: {mode!r}")
        if mode and "b" not in mode:
            mode += "b"
        chosen = get(pool, threads, block_size)
        if mode is not None and not mode.startswith(("r", "w", "a", "x")):
            raise ValueError(f"Invalid mode: {mode!r}")
        if fileobj is None:
            if filename is None:
                raise TypeError("there is neither a filename nor a fileobj")
            fileobj = self.myfileobj = builtins.open(filename, mode or "rb")
        if filename is None:
            filename = getattr(fileobj, "name", "")
            if not isinstance(filename, (str, bytes)):
                filename = ""
        else:
            filename = os.fspath(filename)
        if mode is None:
            mode = getattr(fileobj, "mode", "rb")
            if not isinstance(mode, str):
                mode = "rb"
        self.name = filename
        self.fileobj = fileobj
        try:
            if mode.startswith("r"):
                self._begin_reading(chosen)
            elif mode.startswith(("w", "a", "x")):
                self._begin_writing(chosen, check_level(compresslevel))
            else:
                raise ValueError(f"Invalid mode: {mode!r}")
        except BaseException:
            if self.myfileobj is not None:
                self.myfileobj.close()
            self.fileobj = self.myfileobj = None
            raise

    def _begin_reading(self, pool: Pool) -> None:
        self.mode = "rb"
        self._raw = Source(self.fileobj, pool)
        self._buffer = io.BufferedReader(self._raw, READ_BUFFER)
        self._shorten("readline")

    def _begin_writing(self, pool: Pool, level: int) -> None:
        self.mode = "wb"
        self._raw = Sink(self.fileobj, _core.Compressor(
            pool.crew(GZIP, level), _header_name(self.name), header_time(self._mtime)))
        self._buffer = io.BufferedWriter(self._raw, WRITE_BUFFER)
        self._shorten("write")

    def _shorten(self, method: str) -> None:
        """Makes calls of a method, which may be many, go straight to the buffer until the end."""
        self.__dict__[method] = getattr(self._buffer, method)

    # --- State ---

    @property
    def mtime(self) -> Optional[float]:
        """When reading: the time in the first header, once it was read."""
        return self._raw.mtime if isinstance(self._raw, Source) else self._mtime

    @property
    def closed(self) -> bool:
        return self.fileobj is None

    def __repr__(self) -> str:
        return f"<gzlzss {self.name!r} {self.mode} {id(self):#x}>"

    def readable(self) -> bool:
        self._check_open()
        return self.mode == "rb"

    def writable(self) -> bool:
        self._check_open()
        return self.mode == "wb"

    def seekable(self) -> bool:
        self._check_open()
        return True

    def fileno(self) -> int:
        """The descriptor of the compressed file."""
        self._check_open()
        return cast(int, self.fileobj.fileno())

    def _check_open(self) -> None:
        if self.fileobj is None:
            raise ValueError("I/O operation on closed file")

    def _reader(self, what: str) -> io.BufferedReader:
        self._check_open()
        if self.mode != "rb":
            raise OSError(errno.EBADF, f"{what}() on write-only GzipFile object")
        return cast(io.BufferedReader, self._buffer)

    # --- Reading ---

    def read(self, size: Optional[int] = -1) -> bytes:
        return self._reader("read").read(-1 if size is None else size)

    def read1(self, size: int = -1) -> bytes:
        buffer = self._reader("read1")
        self._fill(buffer)
        return buffer.read1(READ_BUFFER if size < 0 else size)

    def readinto(self, buffer: Any) -> int:
        return self._reader("readinto").readinto(buffer)

    def readinto1(self, buffer: Any) -> int:
        own = self._reader("readinto1")
        self._fill(own)
        return own.readinto1(buffer)

    def _fill(self, buffer: io.BufferedReader) -> None:
        """Fills an empty buffer. Otherwise read1 would read no more than it is asked for from the
        source, which is slow if that is little."""
        if buffer.tell() == self._raw.tell():
            buffer.peek(1)

    def peek(self, n: int = 1) -> bytes:
        return self._reader("peek").peek(n)

    def readline(self, size: Optional[int] = -1) -> bytes:
        return self._reader("readline").readline(-1 if size is None else size)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._reader("read"))

    def rewind(self) -> None:
        """Goes back to the start."""
        self._reader("rewind").seek(0)

    def size(self) -> int:
        """Returns the bytes of the decompressed data, which may have to be decoded for that."""
        buffer = self._reader("size")
        place = buffer.tell()
        size = cast(int, self._raw.size())
        buffer.seek(place)
        return size

    # --- Writing ---

    def write(self, data: Any) -> int:
        self._check_open()
        if self.mode != "wb":
            raise OSError(errno.EBADF, "write() on read-only GzipFile object")
        return cast(int, self._buffer.write(data))

    def flush(self, zlib_mode: int = zlib.Z_SYNC_FLUSH) -> None:
        """When writing: writes all so far, so that others can decompress it now."""
        self._check_open()
        if self.mode != "wb" or self._is_ending:
            return
        if zlib_mode not in DIRECTIVES and zlib_mode != zlib.Z_NO_FLUSH:
            raise ValueError(f"Invalid flush mode: {zlib_mode}")
        self._buffer.flush()
        if zlib_mode != zlib.Z_NO_FLUSH:
            self._raw.run(DIRECTIVES[zlib_mode])
            if hasattr(self.fileobj, "flush"):
                self.fileobj.flush()

    # --- Places ---

    def tell(self) -> int:
        self._check_open()
        return cast(int, self._buffer.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Reading: goes to any place. Writing: goes forward, over zeros."""
        self._check_open()
        if self.mode == "rb":
            return cast(int, self._buffer.seek(offset, whence))
        here = self.tell()
        if whence == io.SEEK_CUR:
            offset += here
        elif whence != io.SEEK_SET:
            raise ValueError("Seek from end not supported")
        if offset < here:
            raise OSError("Negative seek in write mode")
        zeros = bytes(min(CHUNK, offset - here))
        while here < offset:
            here += self.write(zeros[:offset - here])
        return here

    # --- Indexes ---

    def export_index(self, file: Union[Path, BinaryIO], format: str = "gztool") -> None:
        """Writes an index of the file, for later readers and other programs.

        format: "gztool" or "indexed_gzip". The index of a BGZF file is always that of bgzip.
        """
        self._reader("export_index")
        index = self._raw.export_index(format)
        if hasattr(file, "write"):
            file.write(index)
            return
        with builtins.open(os.fspath(file), "wb") as target:
            target.write(index)

    def import_index(self, file: Union[Path, BinaryIO]) -> None:
        """Takes an index of gztool, indexed_gzip or bgzip, before the first read.

        An index that says wrong things makes reading slower. It can also show wrong data if
        somebody has made it for that, so use one only if you trust its author.
        """
        self._reader("import_index")
        if hasattr(file, "read"):
            self._raw.use_index(file.read())
            return
        with builtins.open(os.fspath(file), "rb") as source:
            self._raw.use_index(source.read())

    def block_offsets(self) -> Dict[int, int]:
        """Returns places from which decoding can begin, as rapidgzip does: bits of the file, and
        the bytes of data before."""
        self._reader("block_offsets")
        return dict(index_places(self._raw.export_index("indexed_gzip")))

    def block_offsets_complete(self) -> bool:
        """Whether block_offsets() knows all of the file: it always does."""
        return True

    def tell_compressed(self) -> int:
        """Returns about how many bits of the file were decoded so far."""
        self._reader("tell_compressed")
        return cast(int, self._raw.tell_compressed())

    # --- The end ---

    def close(self) -> None:
        """Writes what is left, and closes the file if it was opened by its name."""
        file, self.fileobj = self.fileobj, None
        if file is None:
            return
        for method in "readline", "write":
            self.__dict__.pop(method, None)
        try:
            if isinstance(self._raw, Sink):
                if self._raw.can_end():
                    self._buffer.flush()
                    self._raw.run(END)
            elif self._raw is not None:
                self._raw.close()
        finally:
            if isinstance(self._raw, Sink):
                self._raw.stop()
            self._buffer = None
            own, self.myfileobj = self.myfileobj, None
            if own is not None:
                own.close()


class _Text(io.TextIOWrapper):
    """Text to or from a GzipFile. Closing it adds no flush to the compressed data."""

    def close(self) -> None:
        if isinstance(self.buffer, GzipFile):
            self.buffer._is_ending = True
        super().close()


if TYPE_CHECKING:
    _Binary = Literal["r", "rb", "w", "wb", "a", "ab", "x", "xb"]
    _InText = Literal["rt", "wt", "at", "xt"]


@overload
def open(filename: Union[Path, IO[bytes]], mode: _Binary = ..., compresslevel: int = ...,
         encoding: None = ..., errors: None = ..., newline: None = ..., *, threads: int = ...,
         block_size: int = ..., mtime: Optional[float] = ..., pool: Optional[Pool] = ...
         ) -> GzipFile: ...


@overload
def open(filename: Union[Path, IO[bytes]], mode: _InText, compresslevel: int = ...,
         encoding: Optional[str] = ..., errors: Optional[str] = ...,
         newline: Optional[str] = ..., *, threads: int = ..., block_size: int = ...,
         mtime: Optional[float] = ..., pool: Optional[Pool] = ...) -> TextIO: ...


@overload
def open(filename: Union[Path, IO[bytes]], mode: str, compresslevel: int = ...,
         encoding: Optional[str] = ..., errors: Optional[str] = ...,
         newline: Optional[str] = ..., *, threads: int = ..., block_size: int = ...,
         mtime: Optional[float] = ..., pool: Optional[Pool] = ...
         ) -> Union[GzipFile, TextIO]: ...


def open(filename: Union[Path, IO[bytes]], mode: str = "rb", compresslevel: int = DEFAULT_LEVEL,
         encoding: Optional[str] = None, errors: Optional[str] = None,
         newline: Optional[str] = None, *, threads: int = 0, block_size: int = 0,
         mtime: Optional[float] = None, pool: Optional[Pool] = None
         ) -> Union[GzipFile, TextIO]:
    """Opens a .gz file, as gzip.open does, by its name or as an open file.

    threads: 0 or less is one for each core. See Pool for block_size and pool, and GzipFile for
    mtime.
    """
    if "t" in mode:
        if "b" in mode:
            raise ValueError(f"Invalid mode: {mode!r}")
    elif encoding is not None:
        raise ValueError("Argument 'encoding' not supported in binary mode")
    elif errors is not None:
        raise ValueError("Argument 'errors' not supported in binary mode")
    elif newline is not None:
        raise ValueError("Argument 'newline' not supported in binary mode")
    binary_mode = mode.replace("t", "")
    kwargs: Dict[str, Any] = dict(threads=threads, block_size=block_size, mtime=mtime, pool=pool)
    if isinstance(filename, (str, bytes, os.PathLike)):
        file = GzipFile(filename, binary_mode, compresslevel, **kwargs)
    elif hasattr(filename, "read") or hasattr(filename, "write"):
        file = GzipFile(None, binary_mode, compresslevel, filename, **kwargs)
    else:
        raise TypeError("filename must be a str or bytes object, or a file")
    if "t" not in mode:
        return file
    return _Text(file, io.text_encoding(encoding) if hasattr(io, "text_encoding") else encoding,
                 errors, newline)
