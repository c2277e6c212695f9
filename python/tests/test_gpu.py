"""Arrays in a GPU's memory. Needs a GPU, and a library with CUDA (GZLZSS_SYSTEM=1)."""
import ctypes
import gzip
import unittest

import gzlzss
from data import noise, text


def open_driver():
    """Returns CUDA's driver with a current context, or None."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    context = ctypes.c_void_p()
    if cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or \
            cuda.cuCtxSetCurrent(context):
        return None
    return cuda


def has_cuda():
    """Whether the library can use a GPU."""
    try:
        gzlzss.Pool(backend="gpu").crew()
    except gzlzss.GPUError:
        return False
    return True


driver = open_driver() if has_cuda() else None


class GpuArray:
    """Bytes in the GPU's memory, by the driver alone."""

    def __init__(self, size, data=None):
        self.size = size
        self.address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(max(size, 1)))
        if data:
            self.call("cuMemcpyHtoD_v2", self.address, data, ctypes.c_size_t(size))

    @staticmethod
    def call(name, *args):
        if getattr(driver, name)(*args):
            raise RuntimeError(f"{name} failed")

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.size,), "typestr": "|u1", "version": 3,
                "data": (self.address.value, False)}

    def bytes(self):
        out = ctypes.create_string_buffer(self.size)
        self.call("cuMemcpyDtoH_v2", out, self.address, ctypes.c_size_t(self.size))
        return out.raw

    def __del__(self):
        driver.cuMemFree_v2(self.address)


def on_gpu(data):
    return GpuArray(len(data), data)


@unittest.skipUnless(driver, "there is no GPU, or the library has no CUDA")
class Gpu(unittest.TestCase):
    inputs = [b"", text(1000), text(6_000_000) * 10, noise(1_000_000) * 3]

    def test_compress(self):
        for data in self.inputs:
            self.assertEqual(gzlzss.compress(on_gpu(data)), gzlzss.compress(data))

    def test_decompress_into(self):
        for data in self.inputs:
            packed = gzip.compress(data, 6)
            for source in packed, on_gpu(packed):
                out = GpuArray(len(data) + 10)
                self.assertEqual(gzlzss.decompress_into(source, out), len(data))
                self.assertEqual(out.bytes()[:len(data)], data)
                host = bytearray(len(data))
                self.assertEqual(gzlzss.decompress_into(on_gpu(packed), host), len(data))
                self.assertEqual(host, data)

    def test_decompress_array(self):
        for data in self.inputs[1:]:
            packed = gzip.compress(data, 6)
            for source in packed, on_gpu(packed):
                self.assertEqual(gzlzss.decompress_array(source, GpuArray).bytes(), data)

    def test_errors(self):
        packed = gzip.compress(self.inputs[2])
        with self.assertRaises(EOFError):
            gzlzss.decompress_array(on_gpu(packed[:-10]), GpuArray)
        with self.assertRaises(ValueError):
            gzlzss.decompress_into(packed, GpuArray(1000))
        with self.assertRaises(ZeroDivisionError):
            gzlzss.decompress_array(packed, lambda size: 1 // 0)

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        tensor = torch.arange(10_000_000, device="cuda")
        packed = gzlzss.compress(tensor)
        self.assertEqual(gzip.decompress(packed), tensor.cpu().numpy().tobytes())
        back = gzlzss.decompress_array(
            packed, lambda n: torch.empty(n, dtype=torch.uint8, device="cuda"))
        self.assertTrue(torch.equal(back.view(torch.int64), tensor))


if __name__ == "__main__":
    unittest.main()
