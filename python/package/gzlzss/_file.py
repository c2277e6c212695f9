"""open and GzipFile: as in gzip, with all cores.

GzipFile is a buffer of Python's io module around a raw file: Source (_source.py) decompresses, Sink
(_sink.py) compresses.
"""
from __future__ import annotations

import builtins
import errno
import functools
import io
import os
import struct
import time
import weakref
import zlib
from typing import (IO, TYPE_CHECKING, Any, BinaryIO, Dict, Literal, Optional, TextIO, Union, cast,
                    overload)

from . import _core
from ._pool import DEFAULT_LEVEL, GZIP, Pool, get
from ._input import CHUNK
from ._sink import END, Sink
from ._source import FLUSH, Source, index_places

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

READ_BUFFER = 128 << 10
WRITE_BUFFER = 128 << 10
LAST_TIME = 0xFFFFFFFF  # the last time that a header can have

# What the modes of zlib's flush are for a stream.
DIRECTIVES = {zlib.Z_PARTIAL_FLUSH: FLUSH, zlib.Z_SYNC_FLUSH: FLUSH, zlib.Z_FULL_FLUSH: 3,
              zlib.Z_BLOCK: FLUSH}


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
    """Returns the number for a header's time; None is now. struct.error: it has no such number."""
    if mtime is None:
        now = int(time.time())
        return now if 0 <= now <= LAST_TIME else 0
    number = int(mtime)
    struct.pack("<L", number)  # raises what gzip raises
    return number


def check_level(level: int) -> int:
    if level == -1:
        return DEFAULT_LEVEL
    if not 0 <= level <= 12:
        raise ValueError(f"Invalid compression level: {level}")
    return level


# The files of this process that are written, by their numbers. A class may have made its objects
# unfit for a set. A file that is freed is removed without a function in Python, in which an exception
# of a signal handler would be ignored.
_written: "Dict[int, weakref.ref[GzipFile]]" = {}


class GzipFile(io.BufferedIOBase):
    """A .gz file, as gzip.GzipFile, which all cores read and write.

    threads, block_size and pool say who does the work: see Pool. Without them, all files of the
    process share one set of threads.
    """

    # A file to close at the end. A subclass may set it before __init__.
    myfileobj: Any = None
    fileobj: Any = None
    name: Union[str, bytes] = ""
    mode = ""
    _buffer: Any = None  # a BufferedReader or a BufferedWriter
    _raw: Any = None
    # The buffer while the short cuts of _core.quicken may use it.
    _quick: Any = None
    _mtime: Optional[float] = None
    _is_ending = False
    # Whether an exception is on its way, so that close() need not say that the file is incomplete.
    _is_failing = False

    def __init__(self, filename: Optional[Path] = None, mode: Optional[str] = None,
                 compresslevel: int = DEFAULT_LEVEL, fileobj: Any = None,
                 mtime: Optional[float] = None, *, threads: int = 0, block_size: int = 0,
                 pool: Optional[Pool] = None) -> None:
        if mode and ("t" in mode or "U" in mode):
            raise ValueError(f"Invalid mode: {mode!r}")
        if mode and "b" not in mode:
            mode += "b"
        if filename is None and fileobj is None:
            raise TypeError("there is neither a filename nor a fileobj")
        if filename is not None:
            filename = os.fspath(filename)
        chosen = get(pool, threads, block_size)
        real_mode = _mode_of(mode, fileobj)
        # Check all arguments before a file is opened, which may empty it.
        if not real_mode.startswith("r"):
            crew = chosen.crew(GZIP, check_level(compresslevel))
            header_time(mtime)
        try:
            if fileobj is None:
                assert filename is not None
                # What is written needs no other buffer. A child process would have a copy of it.
                fileobj = self.myfileobj = builtins.open(
                    filename, real_mode, -1 if real_mode.startswith("r") else 0)
            self.name = _name_of(filename, fileobj)
            self.fileobj = fileobj
            if real_mode.startswith("r"):
                self._begin_reading(chosen)
            else:
                self._begin_writing(crew, mtime)
        except BaseException:
            own, self.fileobj, self.myfileobj = self.myfileobj, None, None
            if own is not None:
                own.close()
            raise

    def _begin_reading(self, pool: Pool) -> None:
        self.mode = "rb"
        self._raw = Source(self.fileobj, pool)
        self._quick = self._buffer = io.BufferedReader(self._raw, READ_BUFFER)

    def _begin_writing(self, crew: _core.Crew, mtime: Optional[float]) -> None:
        self.mode = "wb"
        self._mtime = mtime
        self._raw = Sink(self.fileobj, crew, _header_name(self.name), header_time(mtime))
        self._quick = self._buffer = io.BufferedWriter(self._raw, WRITE_BUFFER)
        _written[id(self)] = weakref.ref(self, functools.partial(_written.pop, id(self)))

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

    def __getstate__(self) -> Any:
        # A copy would share the buffers, and end the file when it is closed. A subclass may know how
        # to open it again.
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

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
        """Reads `size` bytes, or all that are left."""
        return cast(bytes, self._nothing(self._reader("read").read(-1 if size is None else size)))

    def read1(self, size: int = -1) -> bytes:
        buffer = self._reader("read1")
        self._fill(buffer)
        return cast(bytes, self._nothing(buffer.read1(READ_BUFFER if size < 0 else size)))

    def readinto(self, buffer: Any) -> int:
        return cast(int, self._nothing(self._reader("readinto").readinto(buffer)))

    def readinto1(self, buffer: Any) -> int:
        own = self._reader("readinto1")
        self._fill(own)
        return cast(int, self._nothing(own.readinto1(buffer)))

    def _nothing(self, result: Any) -> Any:
        """Returns what was read, unless that is nothing because there is no data yet."""
        if not result and self._raw is not None and self._raw.is_blocked:
            self._raw.is_blocked = False
            raise BlockingIOError(errno.EAGAIN, "the file has no data yet")
        return result

    def _fill(self, buffer: io.BufferedReader) -> None:
        """Fills an empty buffer. Otherwise read1 would read no more than it is asked for from the
        source, which is slow if that is little."""
        if buffer.tell() == self._raw.tell():
            buffer.peek(1)

    def peek(self, n: int = 1) -> bytes:
        return cast(bytes, self._nothing(self._reader("peek").peek(n)))

    def readline(self, size: Optional[int] = -1) -> bytes:
        """Reads a line, at most `size` bytes of it."""
        line = self._reader("readline").readline(-1 if size is None else size)
        return cast(bytes, self._nothing(line))

    def __iter__(self) -> "GzipFile":
        self._reader("read")
        return self

    def _drop_buffer(self) -> None:
        """Forgets what the buffer holds; the next read is at the source's place."""
        self._buffer.detach()
        self._quick = self._buffer = io.BufferedReader(self._raw, READ_BUFFER)

    def _look_anew(self, offset: int, whence: int) -> io.BufferedReader:
        """Returns the buffer for a seek. If the file has changed so that the seek has to see it,
        all that was read is forgotten."""
        if self._raw.is_outdated(offset, whence):
            self._raw.renew()
            self._drop_buffer()
        return cast(io.BufferedReader, self._buffer)

    def _follow(self, before: int) -> None:
        """After an exception, which the buffer does not survive if the source is no longer at the
        place `before`: it would give what it holds, and then data of another place."""
        if self._raw.tell() != before:
            self._drop_buffer()

    def _move(self, offset: int, whence: int) -> int:
        """Goes to a place when reading."""
        before = self._raw.tell()
        try:
            return self._look_anew(offset, whence).seek(offset, whence)
        except BaseException:
            self._follow(before)
            raise

    def rewind(self) -> None:
        """Goes back to the start."""
        self._reader("rewind")
        self._move(0, io.SEEK_SET)

    def size(self) -> int:
        """Returns the bytes of the decompressed data, which may have to be decoded for that."""
        place = self._reader("size").tell()
        before = self._raw.tell()
        try:
            buffer = self._look_anew(0, io.SEEK_END)
            size = cast(int, self._raw.size())
        except BaseException:
            self._follow(before)
            raise
        buffer.seek(place)
        return size

    # --- Writing ---

    def write(self, data: Any) -> int:
        """Writes bytes; returns how many."""
        self._check_open()
        if self.mode != "wb":
            raise OSError(errno.EBADF, "write() on read-only GzipFile object")
        self._raw.check()
        return cast(int, self._buffer.write(data))

    def flush(self, zlib_mode: int = zlib.Z_SYNC_FLUSH) -> None:
        """When writing: writes all so far, so that others can decompress it now."""
        self._check_open()
        if self.mode != "wb" or self._is_ending:
            return
        if zlib_mode not in DIRECTIVES and zlib_mode != zlib.Z_NO_FLUSH:
            raise ValueError(f"Invalid flush mode: {zlib_mode}")
        self._raw.check()
        self._quick = None  # until there was no error
        self._buffer.flush()
        if zlib_mode != zlib.Z_NO_FLUSH:
            self._raw.run(DIRECTIVES[zlib_mode])
            if hasattr(self.fileobj, "flush"):
                self.fileobj.flush()
        self._quick = self._buffer

    # --- Places ---

    def tell(self) -> int:
        self._check_open()
        return cast(int, self._buffer.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Reading: goes to any place. Writing: goes forward, over zeros."""
        self._check_open()
        if self.mode == "rb":
            if whence == io.SEEK_CUR:
                offset, whence = offset + self.tell(), io.SEEK_SET
            return self._move(offset, whence)
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
        """Writes what is left, and closes the file if it was opened by its name.

        OSError: the file is incomplete, as an earlier write has failed.
        """
        file, self.fileobj, self._quick = self.fileobj, None, None
        if file is None:
            return
        try:
            if isinstance(self._raw, Sink):
                self._end_writing(self._raw)
            elif self._raw is not None:
                self._raw.close()
        finally:
            self._buffer = None
            own, self.myfileobj = self.myfileobj, None
            if own is not None:
                own.close()

    def _end_writing(self, sink: Sink) -> None:
        try:
            if sink.is_foreign():
                return  # the parent writes the file
            if not (self._is_failing and sink.is_broken):
                sink.check()
                self._buffer.flush()
                sink.run(END)
        finally:
            sink.stop()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        # The exception on its way already says that the file is incomplete.
        self._is_failing = value is not None
        self.close()


_core.quicken(GzipFile)


def _mode_of(mode: Optional[str], fileobj: Any) -> str:
    """Returns the mode for a file whose mode may be None."""
    if mode is None:
        mode = getattr(fileobj, "mode", "rb")
    if not isinstance(mode, str):
        mode = "rb"
    if not mode.startswith(("r", "w", "a", "x")):
        raise ValueError(f"Invalid mode: {mode!r}")
    return mode


def _name_of(filename: Any, fileobj: Any) -> Union[str, bytes]:
    name = filename if filename is not None else getattr(fileobj, "name", "")
    return name if isinstance(name, (str, bytes)) else ""


def _after_fork() -> None:
    """In a child process: files that the parent writes take nothing from the child."""
    for reference in list(_written.values()):
        file = reference()
        if file is not None:
            file._quick = None


os.register_at_fork(after_in_child=_after_fork)


class _Text(io.TextIOWrapper):
    """Text to or from a GzipFile. Closing it adds no flush to the compressed data."""

    def close(self) -> None:
        file = self.buffer
        if isinstance(file, GzipFile):
            file._is_ending = True
            if isinstance(file._raw, Sink) and file._raw.is_foreign():
                file.close()  # else, text that waits would be written to the parent's file
        super().close()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        file = self.buffer
        if value is not None and isinstance(file, GzipFile) and isinstance(file._raw, Sink):
            if file._raw.is_broken:
                file._is_failing = True
                file.close()
        self.close()


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
        if hasattr(io, "text_encoding"):
            encoding = io.text_encoding(encoding)
        # Check the arguments before the file is opened, which may empty it.
        io.TextIOWrapper(io.BytesIO(), encoding, errors, newline)
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
    return _Text(file, encoding, errors, newline)
