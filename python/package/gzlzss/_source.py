"""The decompressed data of a file, as a raw file of Python's io module.

A source reads in one of four ways. It decompresses a small file in one call. Otherwise it reads
from the start by a stream, which decodes ahead with all cores and checks CRCs, even if there is an
index. After a seek that goes far, it reads by a Reader, which decodes from the nearest place that
it knows. Once these reads have continued one another for a while, the source reads a large block at
a time, because then all cores decode. If the file has grown once its end was reached, the source
reads on by a Tail (_tail.py).
"""
from __future__ import annotations

import errno
import io
import os
import struct
from gzip import BadGzipFile
from typing import Any, Iterator, List, Optional, Tuple

from . import _core
from ._input import CHUNK, ERROR_FORKED, Input, Stamp, not_gzip
from ._pool import Pool
from ._tail import Tail

SMALL = 256 << 10  # a file of fewer bytes is decompressed in one call
SMALL_OUT = 16 << 20  # unless that gives more than this
NEAR = 1 << 20  # a seek this far forward decodes the bytes between
AHEAD_AFTER = 2 << 20  # bytes of sequential reads by a Reader before it reads blocks
AHEAD = 32 << 20  # bytes of a block
WHOLE_MAX = 1 << 30  # a compressed file of at most this many bytes is read() in one call
HEADER = 10  # bytes of a header's fixed part

# What a stream is told with its input: take it, this is the end, give all output now.
CONTINUE, END, FLUSH = 0, 1, 2
ERROR_TRUNCATED, ERROR_CANCELLED = -8, -11

INDEX_FORMATS = {"gztool": 0, "indexed_gzip": 1}


def is_of_the_read(error: Exception) -> bool:
    """Whether reading less may avoid an exception. Those of a signal handler, as TimeoutError, and
    of Pool.cancel() are the caller's."""
    if isinstance(error, (BadGzipFile, EOFError, MemoryError)):
        return True
    return isinstance(error, OSError) and error.errno == errno.EIO


class Source(io.RawIOBase):
    """The decompressed data of a file."""

    def __init__(self, file: Any, pool: Pool) -> None:
        self._input = Input(file)
        self._pool = pool
        self._pid = os.getpid()
        self.mtime: Optional[int] = None
        self._index: Optional[bytes] = None
        self._is_checked = False  # whether the index has been the file's
        self._renew()

    def _renew(self) -> None:
        """Forgets all about the file. It is at the start of its bytes."""
        self._reader: Optional[_core.Reader] = None
        self._end: Optional[int] = None  # the bytes of the data, once they are known
        self._stamp: Optional[Stamp] = None  # the file's state when reading began
        self._begin()

    def _begin(self) -> None:
        """Goes to the start of the data; the file is at the start of its bytes."""
        self._pos = 0
        self._first = b""  # the file's first bytes, until a way to read is chosen
        self._is_begun = False
        self._whole: Optional[memoryview] = None  # the data of a small file
        self._whole_status = 0
        self._stream: Optional[_core.Decompressor] = None
        self._ends = False  # whether the stream has all input
        self._directive = CONTINUE
        self._is_over = False  # whether the data before the file's place was read to its end
        self._tail: Optional[Tail] = None
        self._by_reader = False
        self._sequence_start = 0  # where the latest sequential reads by a Reader began
        self._sequence_end = -1  # where they have ended; the next one begins there
        self._block: Optional[memoryview] = None  # data that was read ahead
        self._block_at = 0  # the place of the block's first byte
        self.is_blocked = False  # whether the last read has found that there is no data yet

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    # --- The start ---

    def _begin_input(self) -> bool:
        """Reads the file's start, and chooses between one call and a stream. Returns False if
        there is too little input yet. If this fails, the next read begins again."""
        self._note_stamp()
        try:
            self._is_begun = self._choose_way(self._pool.crew())
            if self._is_begun:
                self._first = b""
        except BaseException:
            if self._input.is_seekable:
                self._rewind()
            raise
        return self._is_begun

    def _note_stamp(self) -> None:
        if self._stamp is None:
            self._stamp = self._input.stamp()

    def _take_first(self, least: int) -> Optional[bool]:
        """Takes input until _first has `least` bytes. Returns False if the file has fewer, and None
        if there are fewer yet."""
        while len(self._first) < least:
            more = self._input.take()
            if more is None:
                return None
            if not more:
                return False
            self._first += more
            if not b"\x1f\x8b".startswith(self._first[:2]):
                raise not_gzip(self._first[:2])
        return True

    def _choose_way(self, crew: _core.Crew) -> bool:
        if self._take_first(HEADER) is None:
            return False
        first = self._first
        if not first:
            self._whole = memoryview(b"")
            return True
        if len(first) == 1:
            raise not_gzip(first)
        if len(first) >= 8:
            self.mtime = struct.unpack_from("<I", first, 4)[0]
        if self._input.is_seekable and len(first) < SMALL:
            has_more = self._take_first(SMALL)
            if has_more is None:
                return False
            if not has_more and self._decompress_whole(crew, self._first):
                return True
        self._stream = _core.Decompressor(crew)
        self._stream.feed(self._first)
        self._directive = FLUSH if self._input.would_wait() else CONTINUE
        return True

    def _decompress_whole(self, crew: _core.Crew, data: bytes) -> bool:
        found = crew.decompress_some(data, SMALL_OUT)
        if found is None:
            return False
        self._whole = memoryview(found[0])
        self._whole_status = found[1]
        return True

    # --- Reading ---

    def readinto(self, buffer: Any) -> Optional[int]:
        out = memoryview(buffer).cast("B")
        self.is_blocked = False
        if not len(out):
            return 0
        self._check_process()
        self._input.is_at_end = False
        try:
            n = self._read_some(out)
        except (BadGzipFile, EOFError):
            raise
        except BaseException as e:
            self._interrupted(e)
            raise
        if n is None:
            self.is_blocked = True
            return None
        self._pos += n
        if n == 0:
            self._end = self._pos
        elif self._end is not None and self._pos > self._end:
            self._end = None
        return n

    def _read_some(self, out: memoryview) -> Optional[int]:
        if self._tail is not None:
            return self._tail.readinto(out)
        if self._by_reader:
            return self._read_by_reader_or_tail(out)
        if self._is_over:
            return self._read_on(out)
        if not self._is_begun and not self._begin_input():
            return None
        return self._read_whole(out) if self._whole is not None else self._read_stream(out)

    def _read_stream(self, out: memoryview) -> Optional[int]:
        while True:
            stream = self._stream
            if stream is None:
                _core.check(ERROR_CANCELLED)
            assert stream is not None
            has_waited = False
            if stream.needs_input and not self._ends:
                data = self._input.take()
                has_waited = data is None
                self._ends = data == b""
                self._directive = (END if self._ends else
                                   FLUSH if has_waited or self._input.would_wait() else CONTINUE)
                if data:
                    stream.feed(data)
            try:
                n = stream.readinto(out, self._directive)
            except EOFError:
                return self._read_past_cut(out)
            if n > 0:
                return n
            if stream.eof:
                # Formats older than gzip end where they end, whatever follows.
                self._is_over = self._ends
                return self._read_on(out) if self._ends else 0
            if has_waited:
                return None

    def _read_whole(self, out: memoryview) -> Optional[int]:
        assert self._whole is not None
        piece = self._whole[self._pos:self._pos + len(out)]
        if len(piece) > 0:
            out[:len(piece)] = piece
            return len(piece)
        if self._whole_status == 0:
            return self._read_on(out)
        try:
            _core.check(self._whole_status)
        except EOFError:
            return self._read_past_cut(out)
        return 0

    # --- A file that grows ---

    def _read_on(self, out: memoryview) -> Optional[int]:
        """At the end of the last member: reads members that were appended since. A call of readinto
        that has found the file's end does not ask for more."""
        may_ask = self._input.is_usable() and not self._input.is_at_end
        more = self._input.take() if may_ask else b""
        if not more:
            return 0 if more is not None else None
        self._tail = Tail(self._input, more, is_first=self._input.taken == len(more))
        return self._tail.readinto(out)

    def _read_past_cut(self, out: memoryview) -> Optional[int]:
        """Where the file's data was cut off: goes on if the file has grown since. Called in the
        handler of the EOFError, which is raised again if not."""
        if (not (self._input.is_seekable and self._input.is_usable()) or self._input.is_at_end or
                not self._input.take()):
            raise
        self._begin_tail()
        assert self._tail is not None
        return self._tail.readinto(out)

    def _begin_tail(self) -> None:
        """Reads the file from its start again, up to the place."""
        self._input.rewind()
        self._stream = self._whole = self._reader = self._block = None
        self._is_begun = True
        self._by_reader = False
        self._tail = Tail(self._input, b"", is_first=True, skip=self._pos)

    def _read_by_reader_or_tail(self, out: memoryview) -> Optional[int]:
        try:
            n = self._read_by_reader(out)
        except EOFError:
            if not self.has_changed():
                raise
            n = 0
        if n > 0 or not self.has_changed():
            return n
        self._begin_tail()
        assert self._tail is not None
        return self._tail.readinto(out)

    def has_changed(self) -> bool:
        """Whether the file is another one than when reading began, as far as this can be seen."""
        if self._stamp is None:
            return False
        now = self._input.stamp()
        return now is not None and not now.is_same(self._stamp)

    def is_outdated(self, offset: int, whence: int) -> bool:
        """Whether a seek to this place has to look at the file anew, since it has changed. A file
        that has only grown is the same in the data that is known."""
        if self._stamp is None:
            if whence != io.SEEK_SET or offset > 0 or not (self._is_over or self._whole):
                return False
            return self._input.is_seekable  # nothing tells whether it has changed
        now = self._input.stamp()
        if now is None or now.is_same(self._stamp):
            return False
        if now.size <= self._stamp.size or whence == io.SEEK_END:
            return True
        return whence == io.SEEK_SET and (offset <= 0 or
                                          (self._end is not None and offset > self._end))

    def renew(self) -> None:
        """Goes back to the start, and looks at the file anew."""
        self._check_process()
        self._input.rewind()
        self._renew()

    # --- Reading by a Reader ---

    def _read_by_reader(self, out: memoryview) -> int:
        reader = self._get_reader()
        if self._pos == self._end:
            return 0
        if self._pos != self._sequence_end:
            self._sequence_start = self._pos
        if (not self._has_block() and len(out) < AHEAD and
                self._pos - self._sequence_start >= AHEAD_AFTER):
            self._read_ahead(reader)
        if self._has_block():
            assert self._block is not None
            piece = self._block[self._pos - self._block_at:][:len(out)]
            n = len(piece)
            out[:n] = piece
        else:
            self._block = None
            n = reader.readinto(out, self._pos)
        self._sequence_end = self._pos + n
        return n

    def _has_block(self) -> bool:
        """Whether the block has the byte that is read next."""
        return (self._block is not None and
                0 <= self._pos - self._block_at < len(self._block))

    def _read_ahead(self, reader: _core.Reader) -> None:
        """Reads a block, which stays None after an error."""
        self._block = None
        try:
            block = bytearray(AHEAD)
            n = reader.readinto(block, self._pos)
        except Exception as e:
            if not is_of_the_read(e):
                raise
            # The error may come after the bytes that are wanted now. Reading only these will tell.
            self._sequence_start = self._pos
            return
        self._block = memoryview(block)[:n]
        self._block_at = self._pos

    def _interrupted(self, error: BaseException) -> None:
        """Goes on by a reader after an exception, since one of a signal handler cancels the stream,
        and may lose input or output. Without a reader, later reads fail, too, but a read from the
        file that has failed can be repeated."""
        if self._stream is None:
            return
        if self._input.can_have_reader():
            self._stream = None
            self._by_reader = True
        elif isinstance(error, TimeoutError) or not isinstance(error, (OSError, MemoryError)):
            self._stream = None

    def readall(self) -> Optional[bytes]:  # type: ignore[override]
        self._check_process()
        if not self._is_begun and not self._by_reader and self._tail is None and not self._first:
            size = self._input.size()
            if size is not None and SMALL <= size <= WHOLE_MAX:
                return self._read_at_once()
        parts: List[bytes] = []
        while part := self.read(CHUNK):
            parts.append(part)
        return b"".join(parts) if parts or part is not None else None

    def _read_at_once(self) -> bytes:
        self._note_stamp()
        try:
            data = self._input.take_all()
            if not data.startswith(b"\x1f\x8b"):
                raise not_gzip(data[:2])
            result = self._pool.crew().decompress(data)
        except BaseException:
            self._rewind()
            raise
        self.mtime = struct.unpack_from("<I", data, 4)[0]
        self._is_begun = self._is_over = True
        self._pos = self._end = len(result)
        return result

    # --- Any place ---

    def _check_process(self) -> None:
        """After fork(), goes on without the parent's threads, and without moving the file's offset,
        which parent and child share."""
        if self._pid == os.getpid():
            return
        if not self._input.can_go_on():
            _core.check(ERROR_FORKED)
        self._pid = os.getpid()
        self._input.leave_parent()
        self._reader = None
        if self._stream is None:
            return
        self._stream = None
        if self._input.can_have_reader():
            self._by_reader = True
        else:
            place = self._pos
            self._rewind()
            self._skip_to(place)

    def _get_reader(self) -> _core.Reader:
        source = self._input.reader_source()  # raises the error of a file that is closed
        if self._reader is None:
            if source is None:
                raise io.UnsupportedOperation("this needs a file of the system, from its start")
            self._stamp = self._input.stamp()
            self._reader = self._open_reader(source)
        return self._reader

    def _open_reader(self, source: Any) -> _core.Reader:
        reader = _core.Reader(self._pool.crew(), source)
        if self._index is None:
            return reader
        try:
            reader.use_index(self._index)
        except BadGzipFile:
            # The file has changed since import_index has checked the index.
            if self._is_checked:
                self._index = None
                return _core.Reader(self._pool.crew(), source)
            raise
        return reader

    def _rewind(self) -> None:
        self._input.rewind()
        self._begin()

    def size(self) -> int:
        """Returns the bytes of the data."""
        self._check_process()
        if self._end is None and self._input.can_have_reader():
            self._note_stamp()
            # An empty file has no data; for a Reader, it is no gzip file.
            is_empty = self._stamp is not None and self._stamp.size == 0
            self._end = 0 if is_empty else self._get_reader().size()
        if self._end is None:
            self._input.check_seekable()
            place = self._pos
            self._read_to_end()
            self.seek(place)
        assert self._end is not None
        return self._end

    def _read_to_end(self) -> None:
        while self.read(CHUNK):
            pass
        if self._end is None:
            raise BlockingIOError(errno.EAGAIN, "the file has no data yet")

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._pos
        elif whence == io.SEEK_END:
            if offset >= 0 and self._end is None and not self._input.can_have_reader():
                self._read_to_end()
            offset += self.size()
        elif whence != io.SEEK_SET:
            raise ValueError(f"Invalid value for whence: {whence}")
        offset = max(offset, 0)
        self._check_process()
        if not (self._is_begun or self._by_reader or offset == 0 or self._index is not None):
            self._begin_input()
        if self._whole is not None and not self._by_reader and self._tail is None:
            if self._whole_status == 0 or offset <= len(self._whole):
                self._pos = min(offset, len(self._whole))
                self._skip_to(offset)  # there may be more by now
                return self._pos
        if offset == self._pos:
            return offset
        is_near = self._pos < offset <= self._pos + NEAR
        if self._input.can_have_reader() and offset > 0 and (self._by_reader or not is_near):
            return self._seek_by_reader(offset)
        if offset < self._pos:
            self._rewind()
        self._skip_to(offset)
        return self._pos

    def _seek_by_reader(self, offset: int) -> int:
        self._by_reader = True
        self._stream = self._tail = None
        self._pos = self._clamp(offset) if offset > self._pos else offset
        return self._pos

    def _skip_to(self, offset: int) -> None:
        while self._pos < offset and self.read(min(CHUNK, offset - self._pos)):
            pass
        if self.is_blocked:
            raise BlockingIOError(errno.EAGAIN, "the file has no data yet")

    def _clamp(self, offset: int) -> int:
        """Returns the place, or the data's end if that comes first, without decoding past it."""
        if self._get_reader().readinto(bytearray(1), offset - 1) == 1:
            return offset
        return self.size()

    def tell(self) -> int:
        return self._pos

    def tell_compressed(self) -> int:
        """Returns about where in the file the place is, in bits."""
        if self._pos == 0 and not self._is_begun:
            return 0
        if self._by_reader:
            return 8 * self._get_reader().place(self._pos)
        if self._stream is not None:
            return 8 * self._stream.told_in
        taken = self._input.taken
        if self._whole is not None and self._tail is None and len(self._whole) > 0:
            taken = taken * self._pos // len(self._whole)
        return 8 * taken

    # --- Indexes ---

    def use_index(self, index: bytes) -> None:
        if self._is_begun or self._reader is not None or self._first:
            raise ValueError("an index must come before the first read")
        self._index = index
        self._is_checked = False
        try:
            self._get_reader()
            self._is_checked = True
        except BaseException as e:
            self._index = None
            if isinstance(e, _core.DataError):
                raise _core.DataError("the index is damaged, or another file's") from None
            if isinstance(e, BadGzipFile):
                raise BadGzipFile("Not an index of gztool, indexed_gzip or bgzip") from None
            raise

    def export_index(self, format: str) -> bytes:
        if format not in INDEX_FORMATS:
            raise ValueError(f"an index's format is one of {', '.join(INDEX_FORMATS)}")
        self._check_process()
        return self._get_reader().export(INDEX_FORMATS[format])

    def close(self) -> None:
        self._stream = self._reader = self._whole = self._block = self._tail = None
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
