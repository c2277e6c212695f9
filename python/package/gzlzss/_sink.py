"""The compressed data of a file that is written, as a raw file of Python's io module."""
from __future__ import annotations

import errno
import io
import os
import threading
from typing import Any, Callable, Optional

from . import _core
from ._input import ERROR_FORKED, inner

END = 1  # what a stream is told when its data is complete


class Sink(io.RawIOBase):
    """Compresses to a file. Its header is written at once.

    What the file does not take yet waits here, so a file that does not block loses nothing. The
    buffers of Python's own files are flushed after each write, so that a child process has no copy
    of what they hold: it would write it again when it ends.
    """

    def __init__(self, file: Any, crew: _core.Crew, name: Optional[bytes], mtime: int) -> None:
        self._file = file
        self._is_raw = isinstance(file, io.RawIOBase)
        self._has_buffer = isinstance(inner(file), (io.BufferedWriter, io.BufferedRandom))
        self._compressor = _core.Compressor(crew, name, mtime)
        self._pos = 0
        self._pid = os.getpid()
        # A thread that is in write() or run() has the lock, so that others do not take its call for
        # one that was interrupted.
        self._lock = threading.Lock()
        self._holder = 0
        # Whether compressed data may be lost, since an exception came between compressing and
        # writing.  Then nothing more is written, so that the file is seen to be incomplete.
        self._is_broken = False
        self._failure = (errno.EIO, "it was interrupted")
        self._is_over = False
        header = crew.header(name, mtime)
        self._header_left = len(header)  # bytes that the compressor gives, though they are written
        self._waiting = header  # output that the file has not taken yet
        self._change(b"")

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._pos

    # --- The file below ---

    def _put(self) -> bool:
        """Writes the output that waits. Returns whether the file has taken all of it."""
        rest: Any = self._waiting
        if not rest:
            return True
        try:
            while rest:
                n = self._put_some(rest)
                if n is None:
                    return False
                # Only Python's own files are known to take views.
                rest = memoryview(rest)[n:] if self._is_raw else rest[n:]
        finally:
            self._waiting = bytes(rest)
        if self._has_buffer:
            try:
                self._file.flush()
            except BlockingIOError:
                pass  # its buffer keeps the data
        return True

    def _put_some(self, data: Any) -> Optional[int]:
        """Returns how many bytes the file has taken; None if it takes none now."""
        try:
            n = self._file.write(data)
        except BlockingIOError as e:
            return getattr(e, "characters_written", 0) or None
        if n is None and self._is_raw:
            return None
        # Files that are not Python's may return anything.
        if not isinstance(n, int):
            return len(data)
        if n <= 0 or (n > len(data) and self._is_raw):
            raise OSError(errno.EIO, f"write() returned invalid length {n} (should have been "
                                     f"between 1 and {len(data)})")
        return n

    def _change(self, data: bytes) -> bool:
        """Adds output, and writes what the file takes. Returns whether that is all."""
        if self._header_left > 0:
            known = min(self._header_left, len(data))
            self._header_left -= known
            data = data[known:]
        self._waiting += data
        return self._put()

    # --- Writing ---

    def write(self, data: Any) -> Optional[int]:
        n = memoryview(data).nbytes
        if self._is_over:
            return n
        self._check_caller()
        with self._lock:
            return n if self._guarded(lambda: self._compress(data, n)) else None

    def _compress(self, data: Any, n: int) -> bool:
        """Compresses and writes. Returns False if the file takes nothing now."""
        if not self._put():
            return False
        self._change(self._compressor.compress(data))
        self._pos += n
        return True

    def run(self, directive: int) -> None:
        """Flushes or ends the stream. BlockingIOError: the file does not take all output now."""
        self._check_caller()
        with self._lock:
            is_done = self._guarded(
                lambda: self._put() and self._change(self._compressor.flush(directive)))
        if not is_done:
            raise BlockingIOError(errno.EAGAIN, "the file does not take all data now", 0)

    def _guarded(self, work: Callable[[], bool]) -> bool:
        """Does the work, with the lock. The file is incomplete if an exception ends it."""
        self._check_whole()
        self._holder = threading.get_ident()
        self._is_broken = True
        try:
            result = work()
        except BaseException as e:
            self._note(e)
            raise
        finally:
            self._holder = 0
        self._is_broken = False
        return result

    def _note(self, error: BaseException) -> None:
        """Keeps the reason, but not the exception, which would keep its frames."""
        if isinstance(error, OSError) and isinstance(error.errno, int):
            self._failure = (error.errno, error.strerror or str(error))

    # --- The end ---

    @property
    def is_broken(self) -> bool:
        """Whether the file is incomplete. Waits for calls of other threads."""
        if self.is_foreign() or self._holder == threading.get_ident():
            return self._is_broken
        with self._lock:
            return self._is_broken

    def is_foreign(self) -> bool:
        """Whether this is a child process, whose parent writes the file."""
        return self._pid != os.getpid()

    def check(self) -> None:
        """Raises an error if the file cannot be written on. Waits for calls of other threads."""
        self._check_caller()
        with self._lock:
            self._check_whole()

    def _check_caller(self) -> None:
        """Raises an error if this thread or process may not call the sink."""
        if self.is_foreign():
            _core.check(ERROR_FORKED)
        if self._holder == threading.get_ident():
            raise RuntimeError("reentrant call")  # of a signal handler

    def _check_whole(self) -> None:
        if self._is_broken:
            number, text = self._failure
            raise OSError(number, f"the file is incomplete, as an earlier write has failed: {text}")

    def stop(self) -> None:
        """Ignores writes from now on; the buffer may still have data that it cannot keep. Frees the
        compressor's memory."""
        self._is_over = True
        self._waiting = b""
        del self._compressor
