"""The decompressed data of a file, as a raw file of Python's io module.

A source reads in one of three ways. It decompresses a small file in one call. Otherwise it reads
from the start by a stream, which decodes ahead with all cores. After a seek that goes far, it reads
by a Reader, which decodes from the nearest place that it knows. If many reads follow one another
there, the source reads a large block at a time, because then all cores decode.
"""
from __future__ import annotations

import errno
import io
import os
import select
import struct
from gzip import BadGzipFile
from typing import Any, Iterator, List, Optional, Tuple

from . import _core
from ._pool import Pool

CHUNK = 1 << 20  # bytes that are read from a file at a time
PIPE_CHUNK = 1 << 18
SMALL = 256 << 10  # a file of fewer bytes is decompressed in one call
SMALL_OUT = 16 << 20  # unless that gives more than this
NEAR = 1 << 20  # a seek this far forward decodes the bytes between
AHEAD_AFTER = 2 << 20  # after so many bytes of reads by a Reader that follow one another, ...
AHEAD = 32 << 20  # ... so many bytes are read at a time
WHOLE_MAX = 1 << 30  # a compressed file of at most this many bytes is read() in one call

# What a stream is told with its input: take it, this is the end, give all output now.
CONTINUE, END, FLUSH = 0, 1, 2
ERROR_FORKED = -12

INDEX_FORMATS = {"gztool": 0, "indexed_gzip": 1}


def plain(file: Any) -> Optional[io.FileIO]:
    """Returns the io.FileIO behind a file if the file gives just its bytes, else None."""
    if type(file) in (io.BufferedReader, io.BufferedRandom):
        file = file.raw
    return file if type(file) is io.FileIO else None


def is_seekable(file: Any) -> bool:
    try:
        return bool(file.seekable())
    except (AttributeError, OSError):
        return hasattr(file, "seek") and not hasattr(file, "seekable")


def not_gzip(magic: bytes) -> BadGzipFile:
    return BadGzipFile(f"Not a gzipped file ({magic!r})")


class Source(io.RawIOBase):
    """The decompressed data of a file."""

    def __init__(self, file: Any, pool: Pool) -> None:
        self._file = file
        self._pool = pool
        self._is_seekable = is_seekable(file)
        self._start = file.tell() if self._is_seekable else 0
        self.mtime: Optional[int] = None
        self._index: Optional[bytes] = None
        self._reader: Optional[_core.Reader] = None
        self._end: Optional[int] = None  # the bytes of the data, once they are known
        self._begin()

    def _begin(self) -> None:
        """Goes to the start of the data; the file is at the start of its bytes."""
        self._pid = os.getpid()
        self._pos = 0
        self._in = 0  # bytes taken from the file
        self._is_begun = False
        self._whole: Optional[memoryview] = None  # the data of a small file
        self._whole_status = 0
        self._stream: Optional[_core.Decompressor] = None
        self._ends = False  # whether the stream has all input
        self._directive = CONTINUE
        self._by_reader = False
        self._row = 0  # where the first of the reads by a Reader that follow one another began
        self._next = -1  # where another one would begin
        self._block: Optional[memoryview] = None  # data that was read ahead
        self._block_at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    # --- Input ---

    def _take(self) -> bytes:
        """Returns the next bytes of the file, none at its end."""
        if self._is_seekable:
            data: Optional[bytes] = self._file.read(CHUNK)
        elif hasattr(self._file, "read1"):
            data = self._file.read1(PIPE_CHUNK)
        else:
            data = self._file.read(PIPE_CHUNK)
        if data is None:
            raise BlockingIOError(errno.EAGAIN, "the file has no data yet")
        self._in += len(data)
        return data

    def _would_wait(self) -> bool:
        """Whether more input may take long to come. Then all output is given first."""
        if self._is_seekable:
            return False
        try:
            poll = select.poll()
            poll.register(self._file.fileno(), select.POLLIN)
            return not poll.poll(0)
        except (AttributeError, OSError, ValueError):
            return True

    def _begin_input(self) -> None:
        """Reads the file's start, and chooses between one call and a stream."""
        first = self._take()
        if first and not first.startswith(b"\x1f\x8b"):
            while len(first) == 1 and (more := self._take()):
                first += more
            if not first.startswith(b"\x1f\x8b"):
                if self._is_seekable:
                    self._file.seek(self._start)
                raise not_gzip(first[:2])
        self._is_begun = True
        if not first:
            self._whole = memoryview(b"")
            return
        if len(first) >= 8:
            self.mtime = struct.unpack_from("<I", first, 4)[0]
        if self._is_seekable and len(first) < SMALL:
            while len(first) < SMALL and (more := self._take()):
                first += more
            if len(first) < SMALL and self._decompress_whole(first):
                return
        self._stream = _core.Decompressor(self._pool.crew())
        self._stream.feed(first)
        self._directive = FLUSH if self._would_wait() else CONTINUE

    def _decompress_whole(self, data: bytes) -> bool:
        found = self._pool.crew().decompress_some(data, SMALL_OUT)
        if found is None:
            return False
        self._whole = memoryview(found[0])
        self._whole_status = found[1]
        return True

    # --- Reading ---

    def _read_stream(self, out: Any) -> int:
        stream = self._stream
        assert stream is not None
        while True:
            if stream.needs_input and not self._ends:
                data = self._take()
                self._ends = not data
                self._directive = (END if self._ends else
                                   FLUSH if self._would_wait() else CONTINUE)
                if data:
                    stream.feed(data)
            n = stream.readinto(out, self._directive)
            if n > 0 or stream.eof:
                return n

    def _read_whole(self, out: Any) -> int:
        assert self._whole is not None
        piece = self._whole[self._pos:self._pos + len(out)]
        if not piece:
            _core.check(self._whole_status)
        out[:len(piece)] = piece
        return len(piece)

    def readinto(self, buffer: Any) -> int:
        out = memoryview(buffer).cast("B")
        if not len(out) or self._pos == self._end:
            return 0
        self._check_process()
        try:
            n = self._read_some(out)
        except Exception:
            raise
        except BaseException:
            self._interrupted()
            raise
        self._pos += n
        if n == 0:
            self._end = self._pos
        return n

    def _read_some(self, out: memoryview) -> int:
        if self._by_reader:
            return self._read_there(out)
        if not self._is_begun:
            self._begin_input()
        return self._read_whole(out) if self._whole is not None else self._read_stream(out)

    def _read_there(self, out: memoryview) -> int:
        reader = self._get_reader()
        if self._pos != self._next:
            self._row = self._pos
        if not self._has_block() and len(out) < AHEAD and self._pos - self._row >= AHEAD_AFTER:
            self._read_ahead(reader)
        if self._has_block():
            assert self._block is not None
            piece = self._block[self._pos - self._block_at:][:len(out)]
            n = len(piece)
            out[:n] = piece
        else:
            self._block = None
            n = reader.readinto(out, self._pos)
        self._next = self._pos + n
        return n

    def _has_block(self) -> bool:
        return (self._block is not None and
                0 <= self._pos - self._block_at < len(self._block))

    def _read_ahead(self, reader: _core.Reader) -> None:
        self._block = None
        try:
            block = bytearray(AHEAD)
            n = reader.readinto(block, self._pos)
        except Exception:
            # The read of what is wanted now tells whether the error is there, or only further on.
            self._row = self._pos
            return
        self._block = memoryview(block)[:n]
        self._block_at = self._pos

    def _interrupted(self) -> None:
        """A signal handler's exception has cancelled the stream; a reader can go on."""
        if self._stream is not None and self._can_use_reader():
            self._stream = None
            self._by_reader = True

    def readall(self) -> bytes:
        self._check_process()
        file = plain(self._file)
        if not self._is_begun and not self._by_reader and file is not None and self._is_seekable:
            size = os.fstat(file.fileno()).st_size - self._start
            if SMALL <= size <= WHOLE_MAX:
                return self._read_at_once()
        parts: List[bytes] = []
        while part := self.read(CHUNK):
            parts.append(part)
        return b"".join(parts)

    def _read_at_once(self) -> bytes:
        data = self._file.read()
        self._in += len(data)
        if not data.startswith(b"\x1f\x8b"):
            raise not_gzip(data[:2])
        result = self._pool.crew().decompress(data)
        self.mtime = struct.unpack_from("<I", data, 4)[0]
        self._is_begun = True
        self._pos = self._end = len(result)
        # If there are reads elsewhere later, this file is read again.
        self._by_reader = self._can_use_reader()
        return result

    # --- Any place ---

    def _check_process(self) -> None:
        """After fork(), goes on by a reader: it neither has threads nor moves the file's offset,
        which parent and child share."""
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        if self._whole is not None and not self._by_reader:
            return
        self._reader = None
        if not self._can_use_reader():
            if self._is_begun:
                _core.check(ERROR_FORKED)
            return
        self._stream = None
        self._by_reader = True

    def _can_use_reader(self) -> bool:
        if self._start != 0:
            return False
        return type(self._file) is io.BytesIO or (plain(self._file) is not None and
                                                  self._is_seekable)

    def _get_reader(self) -> _core.Reader:
        """Returns the reader. Raises ValueError if the file is closed, though the reader, which has
        a descriptor of its own, could go on."""
        file = plain(self._file)
        fd = None if file is None else file.fileno()
        if self._reader is None:
            if not self._can_use_reader():
                raise io.UnsupportedOperation("this needs a file of the system, from its start")
            reader = _core.Reader(self._pool.crew(), self._file.getvalue() if fd is None else fd)
            if self._index is not None:
                reader.use_index(self._index)
            self._reader = reader
        return self._reader

    def _rewind(self) -> None:
        if not self._is_seekable:
            raise io.UnsupportedOperation("the file can only be read from its start to its end")
        self._file.seek(self._start)
        self._begin()

    def size(self) -> int:
        """Returns the bytes of the data."""
        if self._end is None and self._can_use_reader():
            self._end = self._get_reader().size()
        if self._end is None:
            place = self._pos
            while self.read(CHUNK):
                pass
            self.seek(place)
        assert self._end is not None
        return self._end

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._pos
        elif whence == io.SEEK_END:
            offset += self.size()
        elif whence != io.SEEK_SET:
            raise ValueError(f"Invalid value for whence: {whence}")
        offset = max(offset, 0)
        self._check_process()
        if not self._is_begun and offset > 0 and not self._by_reader:
            self._begin_input()
        if self._whole is not None and not self._by_reader and self._is_begun:
            if self._whole_status == 0 or offset <= len(self._whole):
                self._pos = min(offset, len(self._whole))
                return self._pos
        if offset == self._pos:
            return offset
        is_near = self._pos < offset <= self._pos + NEAR
        if self._can_use_reader() and offset > 0 and (self._by_reader or not is_near):
            self._by_reader = True
            self._stream = None
            self._pos = self._clamp(offset) if offset > self._pos else offset
            return self._pos
        if offset < self._pos:
            self._rewind()
        while self._pos < offset and self.read(min(CHUNK, offset - self._pos)):
            pass
        return self._pos

    def _clamp(self, offset: int) -> int:
        """Returns the place, or the data's end if that comes first, without decoding past it."""
        if self._get_reader().readinto(bytearray(1), offset - 1) == 1:
            return offset
        return self.size()

    def tell(self) -> int:
        return self._pos

    def tell_compressed(self) -> int:
        """Returns about how many bits of the file were decoded."""
        return 8 * (self._stream.told_in if self._stream is not None else self._in)

    # --- Indexes ---

    def use_index(self, index: bytes) -> None:
        if self._is_begun or self._reader is not None:
            raise ValueError("an index must come before the first read")
        self._index = index
        self._get_reader()
        self._by_reader = True

    def export_index(self, format: str) -> bytes:
        if format not in INDEX_FORMATS:
            raise ValueError(f"an index's format is one of {', '.join(INDEX_FORMATS)}")
        return self._get_reader().export(INDEX_FORMATS[format])

    def close(self) -> None:
        self._stream = self._reader = self._whole = self._block = None
        super().close()


def index_places(index: bytes) -> Iterator[Tuple[int, int]]:
    """The points of an index: indexed_gzip's, or bgzip's if the file is BGZF."""
    if not index.startswith(b"GZIDX"):
        (count,) = struct.unpack_from("<Q", index)
        yield 0, 0
        for i in range(count):
            packed, data = struct.unpack_from("<QQ", index, 8 + 16 * i)
            yield 8 * packed, data
        return
    # Magic, version, flags, sizes of the file and of the data, spacing, window size, points.
    (version,) = struct.unpack_from("<B", index, 5)
    (count,) = struct.unpack_from("<I", index, 31)
    size = 18 if version > 0 else 17
    for i in range(count):
        packed, data, bits = struct.unpack_from("<QQB", index, 35 + size * i)
        yield 8 * packed - bits, data
