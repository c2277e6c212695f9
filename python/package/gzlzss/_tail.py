"""Decompression of a file that grows while it is read."""
from __future__ import annotations

import zlib
from typing import Any, Optional

from . import _core
from ._input import CHUNK, Input, not_gzip

CUT_OFF = "Compressed file ended before the end-of-stream marker was reached"


class Tail:
    """Members that are decoded in the calling thread, as far as the file has come.

    The other ways to read need the end of the file, so that they can decode ahead. This one keeps
    its state at the end, even in the middle of a member, and goes on when there is more.
    """

    def __init__(self, source: Input, data: bytes, is_first: bool, skip: int = 0) -> None:
        self._input = source
        self._data = data  # input that is not decoded yet
        self._is_first = is_first
        self._skip = skip  # bytes of output to drop
        self._decoder: Optional[_core.Decoder] = None

    def _more(self) -> Optional[bool]:
        """Takes more input. Returns whether there is some; None if it may come later."""
        data = self._input.take()
        if data is None:
            return None
        self._data += data
        return bool(data)

    def _begin_member(self) -> Optional[bool]:
        """Looks for a header. Returns whether there is one; None if it may come later."""
        while True:
            if not self._is_first:
                self._data = self._data.lstrip(b"\0")
            if len(self._data) >= 2:
                break
            more = self._more()
            if more is None:
                return None
            if not more:
                if self._data:
                    raise not_gzip(self._data)
                return False
        if not self._data.startswith(b"\x1f\x8b"):
            raise not_gzip(self._data[:2])
        self._is_first = False
        self._decoder = _core.Decoder(31)
        return True

    def _decode(self, decoder: _core.Decoder, most: int) -> bytes:
        try:
            piece = decoder.decompress(self._data, max_length=most)
        except zlib.error as e:
            raise _core.DataError(str(e)) from None
        if decoder.eof:
            self._data = decoder.unused_data
            self._decoder = None
        else:
            self._data = decoder.unconsumed_tail
        return piece

    def readinto(self, out: Any) -> Optional[int]:
        """Returns the bytes of output: 0 at the end, None if there are none yet."""
        while True:
            if self._decoder is None:
                begun = self._begin_member()
                if not begun:
                    return 0 if begun is False else None
            decoder = self._decoder
            assert decoder is not None
            piece = self._decode(decoder, min(self._skip, CHUNK) or len(out))
            if self._skip > 0:
                self._skip -= len(piece)
            elif piece:
                out[:len(piece)] = piece
                return len(piece)
            if not piece and self._decoder is not None:
                more = self._more()
                if more is None:
                    return None
                if not more:
                    raise EOFError(CUT_OFF)
