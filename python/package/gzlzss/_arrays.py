"""Arrays that have no buffer of Python's: in a GPU's memory, or only by DLPack.

An array says where it is by `__cuda_array_interface__` (CuPy, PyTorch, Numba) or by DLPack. A
stream is the number of a cudaStream_t, as in both protocols: 1 is the legacy default stream, 2 the
default stream of the thread.
"""
from __future__ import annotations

import ctypes
from typing import Any, Callable, List, Optional

from . import _core

LEGACY_STREAM = 1
_CPU, _GPU, _PINNED, _MANAGED = 1, 2, 3, 13  # DLPack's device types


class Memory:
    """Where an array's bytes are. It keeps the array."""

    def __init__(self, address: int, size: int, is_on_gpu: bool, stream: int, owner: Any) -> None:
        self.address = address
        self.size = size
        self.is_on_gpu = is_on_gpu
        self.stream = stream
        self._owner = owner

    def buffer(self) -> Any:
        """The bytes in the host's memory as a buffer."""
        return (ctypes.c_char * self.size).from_address(self.address)


def find(array: Any, stream: Optional[int] = None, writes: bool = False) -> Optional[Memory]:
    """Returns the memory of an array, or None for what is no array."""
    if hasattr(array, "__cuda_array_interface__"):
        return _from_cuda(array, stream, writes)
    try:
        view = memoryview(array)
    except TypeError:
        if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
            return _from_dlpack(array, stream)
        return None
    if writes and view.readonly:
        raise BufferError("the array is read-only")
    size = view.nbytes
    # ctypes takes the address of memory that is read-only only by way of a pointer to bytes.
    if not view.contiguous:
        raise BufferError("the array is not contiguous")
    if view.readonly:
        data = bytes(view)
        address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
        return Memory(address, size, False, stream or LEGACY_STREAM, data)
    if size == 0:
        return Memory(0, 0, False, stream or LEGACY_STREAM, array)
    memory = (ctypes.c_char * size).from_buffer(view.cast("B"))
    return Memory(ctypes.addressof(memory), size, False, stream or LEGACY_STREAM, memory)


def _from_cuda(array: Any, stream: Optional[int], writes: bool) -> Memory:
    interface = array.__cuda_array_interface__
    address, is_readonly = interface["data"]
    item = int(interface["typestr"][2:])
    size = item
    if writes and is_readonly:
        raise BufferError("the array is read-only")
    strides = interface.get("strides")
    for i in reversed(range(len(interface["shape"]))):
        if strides is not None and interface["shape"][i] > 1 and strides[i] != size:
            raise BufferError("the array is not contiguous")
        size *= interface["shape"][i]
    if stream is None:
        stream = interface.get("stream") or LEGACY_STREAM
    return Memory(address or 0, size, True, stream, array)


def _from_dlpack(array: Any, stream: Optional[int]) -> Memory:
    kind, _ = array.__dlpack_device__()
    if kind not in (_CPU, _GPU, _PINNED, _MANAGED):
        raise BufferError(f"the array is on a device of DLPack's type {int(kind)}, not CUDA's")
    stream = stream or LEGACY_STREAM
    # The producer makes this stream wait for the array's data.
    capsule = array.__dlpack__() if kind == _CPU else array.__dlpack__(stream=stream)
    address, size, _, _ = _core.dlpack_memory(capsule)
    return Memory(address, size, kind in (_GPU, _MANAGED), stream, (array, capsule))


def compress(crew: _core.Crew, array: Any, stream: Optional[int]) -> bytes:
    """Compresses an array that has no buffer."""
    memory = find(array, stream)
    if memory is None:
        raise TypeError(f"a bytes-like object or an array is required, not {type(array).__name__}")
    if not memory.is_on_gpu:
        return crew.compress(memory.buffer())
    return _core.cuda_compress(crew, memory.address, memory.size, memory.stream)


def decompress_into(crew: _core.Crew, data: Any, out: Any, stream: Optional[int]) -> int:
    """Decompresses between memory of the host and of GPUs."""
    source, target = find(data, stream), find(out, stream, writes=True)
    if source is None or target is None:
        wrong = data if source is None else out
        raise TypeError(f"a bytes-like object or an array is required, not {type(wrong).__name__}")
    if not source.is_on_gpu and not target.is_on_gpu:
        return crew.decompress_into(source.buffer(), target.buffer())
    return _core.cuda_decompress(crew, source.address, source.size, target.address, target.size,
                                 target.stream if target.is_on_gpu else source.stream)


def decompress_array(crew: _core.Crew, data: Any, empty: Callable[[int], Any],
                     stream: Optional[int]) -> Any:
    """Decompresses to the array of bytes that empty(size) makes on a GPU."""
    source = find(data, stream)
    if source is None:
        raise TypeError(f"a bytes-like object or an array is required, not {type(data).__name__}")
    made: List[Any] = []

    def allocate(size: int) -> int:
        array = empty(size)
        memory = find(array, stream, writes=True)
        if memory is None or memory.size != size:
            raise ValueError(f"empty({size}) has to make an array of {size} bytes")
        made.append(array)
        return memory.address

    _core.cuda_decompress_new(crew, source.address, source.size, source.stream, allocate)
    return made[-1] if made else empty(0)
