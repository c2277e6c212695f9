"""Arrays without a buffer, and what is said where there is no GPU."""
import ctypes
import gzip
import unittest

import gzlzss
from data import gzipped, text


class CudaArray:
    """Says that its bytes, which are in the host's memory, are in a GPU's."""

    def __init__(self, data, **changes):
        self.data = bytearray(data)
        address = ctypes.addressof((ctypes.c_char * len(data)).from_buffer(self.data))
        self.__cuda_array_interface__ = {"shape": (len(data),), "typestr": "|u1", "version": 3,
                                         "data": (address, False), **changes}


class Tensor:
    """An array by DLPack in the host's memory, made by ctypes."""

    class Struct(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("id", ctypes.c_int32),
                    ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                    ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                    ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]

    def __init__(self, data, shape=None, strides=None, bits=8, kind=1, offset=0):
        self.kind = kind
        self.memory = ctypes.create_string_buffer(data, len(data))
        shape = shape or (len(data),)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self.struct = Tensor.Struct(
            ctypes.addressof(self.memory), kind, 0, len(shape), 1, bits, 1,
            ctypes.addressof(self.shape), ctypes.addressof(self.strides) if strides else None,
            offset)

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.struct), b"dltensor", None)


class NoGpu(unittest.TestCase):
    """The GPU engine is not installed, or the machine has no GPU."""

    def test_reason(self):
        self.assertRegex(self.reason(), "^no GPU: .")

    def test_arrays(self):
        if "no GPU engine is installed" not in self.reason():
            self.skipTest("a GPU engine looks at the addresses")
        for call in (lambda: gzlzss.compress(CudaArray(text(1000))),
                     lambda: gzlzss.decompress_into(CudaArray(gzipped(1000)), bytearray(2000)),
                     lambda: gzlzss.decompress_into(gzipped(1000), CudaArray(bytes(2000))),
                     lambda: gzlzss.decompress_array(gzipped(1000), bytearray),
                     lambda: gzlzss.compress(Tensor(text(1000), kind=2))):
            with self.assertRaisesRegex(gzlzss.GPUError, r"^no GPU: no GPU engine is installed \("):
                call()

    def reason(self):
        try:
            gzlzss.Pool(backend="gpu").crew()
        except gzlzss.GPUError as e:
            return str(e)
        self.skipTest("there is a GPU")


class Arguments(unittest.TestCase):
    def test_strides(self):
        for changes in ({"strides": (2,)}, {"shape": (10, 10), "strides": (1, 10)}):
            with self.assertRaises(BufferError):
                gzlzss.compress(CudaArray(bytes(100), **changes))

    def test_read_only(self):
        array = CudaArray(bytes(100))
        array.__cuda_array_interface__["data"] = (1, True)
        with self.assertRaises(BufferError):
            gzlzss.decompress_into(gzipped(10), array)
        with self.assertRaises(BufferError):
            gzlzss.decompress_into(CudaArray(gzipped(10)), b"constant")

    def test_what_is_no_array(self):
        for wrong in None, 1, "text":
            for call in (lambda: gzlzss.compress(wrong),
                         lambda: gzlzss.decompress_into(wrong, bytearray(1)),
                         lambda: gzlzss.decompress_into(gzipped(1), wrong),
                         lambda: gzlzss.decompress_array(wrong, bytearray)):
                with self.assertRaises(TypeError):
                    call()


class Host(unittest.TestCase):
    def test_dlpack(self):
        for data in b"", text(1000), text(500_000):
            self.assertEqual(gzip.decompress(gzlzss.compress(Tensor(data))), data)
        data = text(1000)
        self.assertEqual(gzip.decompress(gzlzss.compress(Tensor(data, (10, 25), (25, 1), 32))),
                         data)
        part = Tensor(data, (900,), offset=100)
        self.assertEqual(gzip.decompress(gzlzss.compress(part)), data[100:])

    def test_dlpack_output(self):
        out = Tensor(bytes(2000))
        self.assertEqual(gzlzss.decompress_into(gzipped(1000), out), 1000)
        self.assertEqual(out.memory.raw[:1000], text(1000))

    def test_dlpack_errors(self):
        for wrong in (Tensor(bytes(100), (10, 10), (1, 10)), Tensor(bytes(100), (50,), (2,)),
                      Tensor(bytes(100), (-1,)), Tensor(bytes(100), (2 ** 62, 2 ** 62)),
                      Tensor(bytes(100), kind=10)):
            with self.assertRaises(BufferError):
                gzlzss.compress(wrong)


if __name__ == "__main__":
    unittest.main()
