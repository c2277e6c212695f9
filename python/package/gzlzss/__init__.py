"""gzip's format with all cores and NVIDIA GPUs.

    import gzlzss as gzip

gives gzip's functions and classes; gzlzss.zlib gives zlib's.
"""
from __future__ import annotations

import importlib
from gzip import BadGzipFile
from typing import Any, Callable, Optional
from zlib import DEFLATED, Z_DEFAULT_STRATEGY

from . import _arrays, _core, zlib
from ._core import CancelledError, DataError, GPUError, crc32, crc32_combine
from ._core import version as __version__
from ._file import READ_BUFFER, GzipFile, check_level, header_time, open
from ._input import not_gzip
from ._pool import DEFAULT_LEVEL, GZIP, Pool, get

__all__ = [
    "BadGzipFile", "CancelledError", "DataError", "GPUError", "GzipFile", "Pool", "compress",
    "compress_into", "compressobj", "crc32", "crc32_combine", "decompress", "decompress_array",
    "decompress_into", "decompressobj", "no_gpu", "open", "register_fsspec", "zlib"]

# gzip's constants: the flags of a header, the modes of files (since Python 3.13), and the bytes that
# reading decompresses at a time.
FTEXT, FHCRC, FEXTRA, FNAME, FCOMMENT = 1, 2, 4, 8, 16
READ, WRITE = "rb", "wb"
READ_BUFFER_SIZE = READ_BUFFER


def compress(data: Any, compresslevel: int = DEFAULT_LEVEL, *, mtime: Optional[float] = 0,
             threads: int = 0, block_size: int = 0, pool: Optional[Pool] = None,
             stream: Optional[int] = None) -> bytes:
    """Returns data compressed to one member. mtime is the header's time; None is now.

    data has a buffer, or is an array that is in a GPU's memory; see decompress_into.
    """
    crew = get(pool, threads, block_size).crew(GZIP, check_level(compresslevel))
    seconds = header_time(mtime) if mtime != 0 else 0
    try:
        return crew.compress(data, None, seconds)
    except TypeError:
        return _arrays.compress(crew, data, stream)


def decompress(data: Any, *, threads: int = 0, pool: Optional[Pool] = None) -> bytes:
    """Returns data decompressed, with all members in it."""
    # Making a view takes as long as decompressing some hundred bytes.
    if not (isinstance(data, bytes) and data.startswith(b"\x1f\x8b")):
        magic = bytes(memoryview(data).cast("B")[:2])
        if not magic:
            return b""
        if magic != b"\x1f\x8b":
            raise not_gzip(magic)
    return get(pool, threads, 0).crew().decompress(data)


def compress_into(data: Any, out: Any, compresslevel: int = DEFAULT_LEVEL, *, threads: int = 0,
                  pool: Optional[Pool] = None) -> int:
    """Compresses data to the buffer `out`, and returns the bytes used. ValueError: no room."""
    return get(pool, threads, 0).crew(GZIP, check_level(compresslevel)).compress_into(data, out)


def decompress_into(data: Any, out: Any, *, threads: int = 0, pool: Optional[Pool] = None,
                    stream: Optional[int] = None) -> int:
    """Decompresses data to the buffer `out`, and returns the bytes used. ValueError: no room.

    Both may be arrays in a GPU's memory, with __cuda_array_interface__ or DLPack. The call waits
    for the work on `stream`, the number of a cudaStream_t; without it, for the stream that the
    array names, or the legacy default stream. When the call returns, the output is there.
    """
    crew = get(pool, threads, 0).crew()
    try:
        return crew.decompress_into(data, out)
    except TypeError:
        return _arrays.decompress_into(crew, data, out, stream)


def decompress_array(data: Any, empty: Callable[[int], Any], *, threads: int = 0,
                     pool: Optional[Pool] = None, stream: Optional[int] = None) -> Any:
    """Decompresses data on a GPU to the array of bytes that empty(size) makes there.

    For example, empty=lambda n: torch.empty(n, dtype=torch.uint8, device="cuda"). The current
    device's memory is used. GPUError: there is no GPU; the text says why.
    """
    return _arrays.decompress_array(get(pool, threads, 0).crew(), data, empty, stream)


def compressobj(level: int = -1, method: int = DEFLATED, wbits: int = 31, memLevel: int = 8,
                strategy: int = Z_DEFAULT_STRATEGY, zdict: Any = None) -> Any:
    """As zlib.compressobj, but in gzip's format unless wbits is 15 (zlib's) or -15 (raw)."""
    return zlib.compressobj(level, method, wbits, memLevel, strategy, zdict)


def decompressobj(wbits: int = 31, zdict: Any = b"") -> _core.Decoder:
    """As zlib.decompressobj, but of gzip's format unless wbits is 15 (zlib's) or -15 (raw)."""
    return _core.Decoder(wbits, zdict)


def no_gpu() -> str:
    """Returns why no GPU works for the shared threads, or an empty string if nothing is known."""
    return get(None, 0, 0).no_gpu()


def register_fsspec(name: str = "gzlzss", extensions: Any = (), force: bool = False) -> None:
    """Makes this package a compression of fsspec: fsspec.open(..., compression="gzlzss").

    With extensions=["gz"] and force=True, also of compression="infer".
    """
    # It has no types, and need not be installed.
    compression = importlib.import_module("fsspec.compression")

    def opener(file: Any, mode: str = "rb", **kwargs: Any) -> GzipFile:
        return GzipFile(None, mode.replace("t", ""), fileobj=file, **kwargs)

    compression.register_compression(name, opener, extensions, force=force)
