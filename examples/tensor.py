#!/usr/bin/env python3
"""tensor.py - a .gz file as a tensor of bytes in a GPU's memory, for PyTorch or CuPy

    ./tensor.py FILE.gz

Prints the tensor's size, and how many of its bytes are line feeds. `load` is the part to copy. It
calls libgzlzss by ctypes: the GPU decompresses, and PyTorch (or CuPy) allocates the memory once the
size is known.
"""
import ctypes
import mmap
import sys

ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Library:
    """libgzlzss, and an object that keeps the GPU's engine from one file to the next."""

    def __init__(self, name="libgzlzss.so.0"):
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.c = ctypes.CDLL(name)
        self.c.gzlzss_status_text.restype = ctypes.c_char_p
        self.c.gzlzss_free.argtypes = [pointer]
        self.c.gzlzss_cuda_decompress_new.argtypes = [
            pointer, ctypes.POINTER(pointer), ctypes.POINTER(size), ALLOCATE, pointer,
            pointer, size, pointer, pointer]
        self.z = ctypes.c_void_p()
        self.check(self.c.gzlzss_new(ctypes.byref(self.z), None))

    def check(self, status):
        if status != 0:
            raise OSError(self.c.gzlzss_status_text(status).decode())

    def load(self, path, empty):
        """Returns the file's content. empty(size) makes the tensor; see empty_torch below."""
        tensors, errors = [], []

        # C calls this function, so no exception may leave it. None becomes NULL in C, which means
        # that there is no memory.
        def allocate(_, size):
            try:
                tensors.append(empty(size))
                return address_of(tensors[-1])
            except Exception as e:
                errors.append(e)
                return None

        out, out_len = ctypes.c_void_p(), ctypes.c_size_t()
        with open(path, "rb") as file:
            # A private mapping, because ctypes takes the address of writable memory only.
            data = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE)
        view = ctypes.c_char.from_buffer(data)
        status = self.c.gzlzss_cuda_decompress_new(
            self.z, ctypes.byref(out), ctypes.byref(out_len), ALLOCATE(allocate), None,
            ctypes.addressof(view), len(data), None, None)
        del view
        data.close()
        if errors:
            raise errors[0]
        self.check(status)
        return tensors[-1]

    def close(self):
        self.c.gzlzss_free(self.z)


def empty_torch(size):
    import torch
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def empty_cupy(size):
    import cupy
    return cupy.empty(size, dtype=cupy.uint8)


def address_of(tensor):
    return tensor.data_ptr() if hasattr(tensor, "data_ptr") else tensor.data.ptr


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: tensor.py FILE.gz")
    library = Library()
    try:
        tensor = library.load(sys.argv[1], empty_torch)
    except ImportError:
        try:
            tensor = library.load(sys.argv[1], empty_cupy)
        except ImportError:
            sys.exit("tensor.py: there is neither PyTorch nor CuPy")
    print(f"{len(tensor)} bytes, {int((tensor == 10).sum())} lines")
    library.close()
