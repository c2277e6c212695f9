"""The compressed bytes of a file that is read."""
from __future__ import annotations

import io
import os
import select
import sys
from gzip import BadGzipFile
from typing import Any, Optional, Tuple, Union

from . import _core

CHUNK = 1 << 20  # bytes that are read from a file at a time
PIPE_CHUNK = 1 << 18

ERROR_FORKED = -12


def inner(file: Any) -> Any:
    """Returns the file inside one that tempfile has made, else the file itself."""
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None and type(file) is getattr(tempfile, "_TemporaryFileWrapper", None):
        return file.file
    return file


def plain(file: Any) -> Optional[io.FileIO]:
    """Returns the io.FileIO behind a file if the file gives just its bytes, else None."""
    file = inner(file)
    if type(file) in (io.BufferedReader, io.BufferedRandom):
        file = file.raw
    return file if type(file) is io.FileIO else None


def is_seekable(file: Any) -> bool:
    try:
        return bool(file.seekable())
    except (AttributeError, OSError):
        return hasattr(file, "seek") and not hasattr(file, "seekable")


def has_descriptor(file: Any) -> bool:
    try:
        return isinstance(file.fileno(), int)
    except (AttributeError, OSError, ValueError):
        return False


def not_gzip(magic: bytes) -> BadGzipFile:
    return BadGzipFile(f"Not a gzipped file ({magic!r})")


class Input:
    """The bytes of a file, from the place where it is when it is given.

    In a child process after fork(), a descriptor's offset is also the parent's. So the bytes of a
    file of the system are then read by their places, and the offset stays.
    """

    def __init__(self, file: Any) -> None:
        self.file = file
        self.is_seekable = is_seekable(file)
        self.start: int = file.tell() if self.is_seekable else 0
        self.taken = 0  # bytes since the start
        self.is_at_end = False  # whether the last bytes that were asked for were not there
        self._is_foreign = False
        self._is_parents = False  # whether the parent has begun to read

    def leave_parent(self) -> None:
        """Says that this process is a child of the one that has read so far."""
        self._is_foreign = True
        self._is_parents = self.taken > 0

    def _is_shared(self) -> bool:
        """Whether reading would move what belongs to the parent, too."""
        return self._is_foreign and has_descriptor(self.file) and (
            self.is_seekable or self._is_parents)

    def is_usable(self) -> bool:
        """Whether this process may read."""
        return not self._is_shared() or (self.is_seekable and plain(self.file) is not None)

    def _read(self, size: int) -> Any:
        """Returns some bytes, or None if there are none yet."""
        file = self.file
        if self._is_shared():
            raw = plain(file)
            if raw is not None and self.is_seekable:
                return os.pread(raw.fileno(), size, self.start + self.taken)
            _core.check(ERROR_FORKED)
        if self.is_seekable or not hasattr(file, "read1"):
            return file.read(size)
        data = file.read1(size)
        if data == b"" and type(file) is io.BufferedReader and not _blocks(file):
            # read1 gives no bytes also if there are none yet; read says so.
            return file.read(1)
        return data

    def take(self) -> Optional[bytes]:
        """Returns the next bytes, none at the end, or None if there are none yet."""
        try:
            data: Union[bytes, Any] = self._read(CHUNK if self.is_seekable else PIPE_CHUNK)
        except BlockingIOError:
            return None
        if data is None:
            return None
        if type(data) is not bytes:
            data = bytes(memoryview(data))
        self.taken += len(data)
        self.is_at_end = not data
        return data

    def take_all(self) -> bytes:
        """Returns all bytes that are left."""
        if not self._is_shared():
            data: bytes = self.file.read()
            self.taken += len(data)
            return data
        parts = []
        while part := self.take():
            parts.append(part)
        return b"".join(parts)

    def would_wait(self) -> bool:
        """Whether more input may take long to come. Then all output is given first."""
        if self.is_seekable:
            return False
        try:
            poll = select.poll()
            poll.register(self.file.fileno(), select.POLLIN)
            return not poll.poll(0)
        except (AttributeError, OSError, ValueError):
            return True

    def check_seekable(self) -> None:
        if not self.is_seekable:
            raise io.UnsupportedOperation("the file can only be read from its start to its end")

    def rewind(self) -> None:
        self.check_seekable()
        if not self._is_shared():
            self.file.seek(self.start)
        self.taken = 0

    def can_go_on(self) -> bool:
        """Whether a child process can read on from where its parent was."""
        return self.taken == 0 or self.is_seekable or not has_descriptor(self.file)

    def size(self) -> Optional[int]:
        """The bytes of a file of the system from the start on, or None if it is another file."""
        raw = plain(self.file)
        if raw is None or not self.is_seekable:
            return None
        return os.fstat(raw.fileno()).st_size - self.start

    def stamp(self) -> Optional["Stamp"]:
        """Returns what tells later whether the file has changed, or None if nothing can."""
        if type(self.file) is io.BytesIO:
            data = self.file.getvalue()
            return Stamp(len(data), data)
        raw = plain(self.file)
        if raw is None or not self.is_seekable:
            return None
        status = os.fstat(raw.fileno())
        return Stamp(status.st_size, (status.st_mtime_ns, status.st_ino))

    def reader_source(self) -> Union[None, int, bytes]:
        """What a Reader takes: a descriptor or bytes; None if there can be no Reader.

        Raises ValueError if the file is closed, though a Reader, which has a descriptor of its own,
        could go on.
        """
        if self.start != 0:
            return None
        if type(self.file) is io.BytesIO:
            return self.file.getvalue()
        raw = plain(self.file)
        return raw.fileno() if raw is not None and self.is_seekable else None

    def can_have_reader(self) -> bool:
        return self.start == 0 and (type(self.file) is io.BytesIO or
                                    (plain(self.file) is not None and self.is_seekable))


def _blocks(file: io.BufferedReader) -> bool:
    try:
        return os.get_blocking(file.fileno())
    except (OSError, ValueError):
        return True


class Stamp:
    """The state of a file: its size, and what else changes with its contents."""

    def __init__(self, size: int, mark: Union[bytes, Tuple[int, int]]) -> None:
        self.size = size
        self._mark = mark

    def is_same(self, other: "Stamp") -> bool:
        # The bytes of a BytesIO are the same object until it is written to.
        return self.size == other.size and (self._mark is other._mark or (
            not isinstance(self._mark, bytes) and self._mark == other._mark))
