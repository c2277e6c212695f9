"""zlib's functions and constants, with libgzlzss inside.

    from gzlzss import zlib

What libgzlzss does not have is Python's own zlib: compression with dictionaries, windows of less
than 32 KiB, and strategies other than the default. Levels go up to 12.
"""
from __future__ import annotations

import operator
import sys
import zlib as _zlib
from typing import TYPE_CHECKING, Any
from zlib import (DEF_BUF_SIZE, DEF_MEM_LEVEL, DEFLATED, MAX_WBITS, Z_BEST_COMPRESSION,
                  Z_BEST_SPEED, Z_BLOCK, Z_DEFAULT_COMPRESSION, Z_DEFAULT_STRATEGY, Z_FILTERED,
                  Z_FINISH, Z_FIXED, Z_FULL_FLUSH, Z_HUFFMAN_ONLY, Z_NO_COMPRESSION, Z_NO_FLUSH,
                  Z_PARTIAL_FLUSH, Z_RLE, Z_SYNC_FLUSH, Z_TREES, ZLIB_RUNTIME_VERSION,
                  ZLIB_VERSION, adler32, error)

from . import _core
from ._core import crc32, crc32_combine
from ._file import DIRECTIVES
from ._pool import DEFAULT_LEVEL, GZIP, RAW, ZLIB, default
from ._sink import END

__all__ = [
    "DEFLATED", "DEF_BUF_SIZE", "DEF_MEM_LEVEL", "MAX_WBITS", "ZLIB_RUNTIME_VERSION",
    "ZLIB_VERSION", "Z_BEST_COMPRESSION", "Z_BEST_SPEED", "Z_BLOCK", "Z_DEFAULT_COMPRESSION",
    "Z_DEFAULT_STRATEGY", "Z_FILTERED", "Z_FINISH", "Z_FIXED", "Z_FULL_FLUSH", "Z_HUFFMAN_ONLY",
    "Z_NO_COMPRESSION", "Z_NO_FLUSH", "Z_PARTIAL_FLUSH", "Z_RLE", "Z_SYNC_FLUSH", "Z_TREES",
    "adler32", "compress", "compressobj", "crc32", "crc32_combine", "decompress",
    "decompressobj", "error"]

_FORMATS = {15: ZLIB, 31: GZIP, -15: RAW}


def _takes(level: int, wbits: int) -> bool:
    return wbits in _FORMATS and -1 <= level <= 12


def compress(data: Any, /, level: int = -1, wbits: int = MAX_WBITS) -> bytes:
    """Returns data compressed, in zlib's format (wbits 15), gzip's (31) or raw (-15)."""
    if not _takes(level, wbits):
        try:
            obj = _zlib.compressobj(level, DEFLATED, wbits)
        except ValueError:
            raise error("Bad compression level") from None  # as zlib, also for wbits
        return obj.compress(data) + obj.flush()
    return default.crew(_FORMATS[wbits], DEFAULT_LEVEL if level < 0 else level).compress(data)


def _is_size(bufsize: Any) -> bool:
    try:
        return 0 <= operator.index(bufsize) <= sys.maxsize
    except TypeError:
        return False


def decompress(data: Any, /, wbits: int = MAX_WBITS, bufsize: int = DEF_BUF_SIZE) -> bytes:
    """Returns data decompressed; with wbits 31, all members of it."""
    if not _is_size(bufsize):
        return _zlib.decompress(data, wbits, bufsize)  # it raises the error
    if wbits in _FORMATS:
        try:
            if wbits != 31 or bytes(memoryview(data).cast("B")[:2]) == b"\x1f\x8b":
                return default.crew(_FORMATS[wbits]).decompress(data)
        except (EOFError, OSError):
            pass  # zlib says what is wrong, or ignores what follows the data
    else:
        try:
            decoder = _core.Decoder(wbits)
            out = decoder.decompress(data)
            if decoder.eof:
                return out
        except (ValueError, error):
            pass  # zlib says what is wrong
    return _zlib.decompress(data, wbits, bufsize)


class _Compress:
    """A stream that compresses, as zlib.compressobj returns it."""

    __slots__ = ("_compressor", "_is_partial")

    def __init__(self, compressor: _core.Compressor) -> None:
        self._compressor = compressor
        self._is_partial = False  # whether the last flush was weaker than Z_SYNC_FLUSH

    def compress(self, data: Any, /) -> bytes:
        """Takes data, and returns output, or none yet."""
        try:
            return self._compressor.compress(data)
        except ValueError as e:
            raise error(f"Error -2 while compressing data: {e}") from None

    def flush(self, mode: int = Z_FINISH, /) -> bytes:
        """Returns the output of all data so far; with Z_FINISH, ends the stream."""
        if mode == Z_NO_FLUSH:
            return b""
        directive = END if mode == Z_FINISH else DIRECTIVES.get(mode)
        is_partial = mode in (Z_PARTIAL_FLUSH, Z_BLOCK)
        try:
            if directive is None:
                raise ValueError("invalid mode")
            # The library knows no weaker flush, and would give nothing at a second one. Taking no
            # bytes makes it give an empty block, as zlib does.
            if self._is_partial and not is_partial and directive != END:
                self._compressor.compress(b"")
            self._is_partial = is_partial
            return self._compressor.flush(directive)
        except ValueError as e:
            raise error(f"Error -2 while flushing: {e}") from None

    def copy(self) -> "_Compress":
        """Returns a copy. This works for the first 128 KiB, before any flush."""
        return _Compress(self._compressor.copy())

    __copy__ = copy

    def __deepcopy__(self, memo: Any, /) -> "_Compress":
        return self.copy()


def compressobj(level: int = -1, method: int = DEFLATED, wbits: int = MAX_WBITS,
                memLevel: int = DEF_MEM_LEVEL, strategy: int = Z_DEFAULT_STRATEGY,
                zdict: Any = None) -> Any:
    """Returns a stream that compresses; memLevel has no effect."""
    if (zdict is not None or strategy != Z_DEFAULT_STRATEGY or method != DEFLATED or
            not 1 <= memLevel <= 9 or not _takes(level, wbits)):
        args = (level, method, wbits, memLevel, strategy)
        return _zlib.compressobj(*args) if zdict is None else _zlib.compressobj(*args, zdict)
    crew = default.crew(_FORMATS[wbits], DEFAULT_LEVEL if level < 0 else level)
    return _Compress(_core.Compressor(crew))


# It accepts matches that are further away than a window of 1 << wbits bytes.
decompressobj = _core.Decoder

if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        """Returns what later versions of zlib have beside these names."""
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_zlib, name)
