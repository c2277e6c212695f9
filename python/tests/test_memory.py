"""Data in memory: compress, decompress, the *_into forms, CRCs, and their errors."""
import array
import ctypes
import gzip
import io
import itertools
import mmap
import pathlib
import unittest
import zlib

import gzlzss
from gzlzss import _core
from data import gzipped, noise, text

SIZES = [0, 1, 1000, 65536, 131072, 131073, 300_000, 5_000_000]


class Memory(unittest.TestCase):
    def test_gzip_reads_it(self):
        for size in SIZES:
            for level in 0, 1, 6, 9, 12:
                if level == 12 and size > 400_000:
                    continue
                with self.subTest(size=size, level=level):
                    packed = gzlzss.compress(text(size), level)
                    self.assertEqual(gzip.decompress(packed), text(size))
                    self.assertEqual(gzlzss.decompress(packed), text(size))

    def test_reads_gzip(self):
        for size in SIZES:
            self.assertEqual(gzlzss.decompress(gzipped(size)), text(size))

    def test_members_and_padding(self):
        packed = gzipped(1000) + gzlzss.compress(noise(400_000)) + gzipped(10)
        data = text(1000) + noise(400_000) + text(10)
        self.assertEqual(gzlzss.decompress(packed), data)
        self.assertEqual(gzlzss.decompress(packed + bytes(1000)), data)

    def test_a_bomb_and_a_lie_about_the_size(self):
        data = bytes(30_000_000)
        packed = gzip.compress(data)
        self.assertEqual(gzlzss.decompress(packed), data)
        # The last member says that there are more bytes than in it, or fewer than in all.
        self.assertEqual(gzlzss.decompress(gzipped(100_000) + gzipped(1)),
                         text(100_000) + text(1))
        self.assertEqual(gzlzss.decompress(gzipped(1) + gzipped(100_000)),
                         text(1) + text(100_000))

    def test_same_bytes_however_made(self):
        data = text(5_000_000)
        first = gzlzss.compress(data, threads=1)
        self.assertEqual(gzlzss.compress(data, threads=3), first)
        obj = gzlzss.compressobj()
        parts = [obj.compress(data[i:i + 77_777]) for i in range(0, len(data), 77_777)]
        self.assertEqual(b"".join(parts) + obj.flush(), first)

    def test_block_size(self):
        data = text(500_000)
        small = gzlzss.compress(data, block_size=32768)
        self.assertNotEqual(small, gzlzss.compress(data))
        self.assertEqual(gzip.decompress(small), data)
        with self.assertRaises(ValueError):
            gzlzss.compress(data, block_size=1000)
        with self.assertRaises(ValueError):
            gzlzss.compress(data, block_size=-1)

    def test_header(self):
        self.assertEqual(gzlzss.compress(b"x")[4:8], bytes(4))
        self.assertEqual(gzlzss.compress(b"x", mtime=258)[4:8], b"\2\1\0\0")
        self.assertNotEqual(gzlzss.compress(b"x", mtime=None)[4:8], bytes(4))

    def test_names(self):
        crew = gzlzss.Pool(1).crew()
        self.assertEqual(crew.compress(b"", b"name")[10:15], b"name\0")
        with self.assertRaises(ValueError):
            crew.compress(b"", b"na\0me")

    def test_limit(self):
        crew = gzlzss.Pool(1).crew()
        self.assertIsNone(crew.decompress_some(gzip.compress(bytes(10_000_000)), 1000))
        self.assertEqual(crew.decompress_some(gzipped(1000), 5000), (text(1000), 0))

    def test_index_comes_first(self):
        reader = _core.Reader(gzlzss.Pool(1).crew(), gzipped(1000))
        index = reader.export(0)
        with self.assertRaises(ValueError):
            reader.use_index(index)
        reader = _core.Reader(gzlzss.Pool(1).crew(), gzipped(1000))
        reader.use_index(index)
        with self.assertRaises(ValueError):
            reader.use_index(index)

    def test_any_buffer(self):
        data = array.array("I", range(10_000))
        packed = gzlzss.compress(data)
        self.assertEqual(gzip.decompress(packed), data.tobytes())
        self.assertEqual(gzlzss.decompress(memoryview(packed)), data.tobytes())
        self.assertEqual(gzlzss.decompress(bytearray(packed)), data.tobytes())
        with self.assertRaises(BufferError):
            gzlzss.compress(memoryview(b"abcdef")[::2])
        for wrong in "text", 1, None, [1]:
            with self.assertRaises(TypeError):
                gzlzss.compress(wrong)
            with self.assertRaises(TypeError):
                gzlzss.decompress(wrong)

    def test_into(self):
        data = text(1_000_000)
        room = bytearray(2_000_000)
        n = gzlzss.compress_into(data, room)
        self.assertEqual(bytes(room[:n]), gzlzss.compress(data))
        out = bytearray(len(data) + 10)
        self.assertEqual(gzlzss.decompress_into(room[:n], out), len(data))
        self.assertEqual(out[:len(data)], data)
        exact = bytearray(len(data))
        self.assertEqual(gzlzss.decompress_into(memoryview(room)[:n], exact), len(data))
        self.assertEqual(exact, data)
        with self.assertRaises(ValueError):
            gzlzss.decompress_into(room[:n], bytearray(len(data) - 1))
        with self.assertRaises(ValueError):
            gzlzss.compress_into(data, bytearray(100))
        with self.assertRaises(TypeError):
            gzlzss.compress_into(data, b"read-only")

    def test_crc(self):
        data = noise(100_000)
        self.assertEqual(gzlzss.crc32(data), zlib.crc32(data))
        self.assertEqual(gzlzss.crc32(data[500:], gzlzss.crc32(data[:500])), zlib.crc32(data))
        self.assertEqual(gzlzss.crc32(b"", 7), 7)
        a, b = data[:77], data[77:]
        self.assertEqual(gzlzss.crc32_combine(zlib.crc32(a), zlib.crc32(b), len(b)),
                         zlib.crc32(data))
        with self.assertRaises(OverflowError):
            gzlzss.crc32_combine(1, 2, -3)
        with self.assertRaises(TypeError):
            gzlzss.crc32_combine(1, 2, "3")


class Errors(unittest.TestCase):
    packed = gzipped(300_000)

    def test_not_gzip(self):
        for data in b"no", b"PK\3\4" + bytes(100), b"\x1f", b"\x1f\x9d\x90a", bytes(10):
            with self.assertRaises(gzip.BadGzipFile):
                gzlzss.decompress(data)
        self.assertEqual(gzlzss.decompress(b""), b"")

    def test_truncated(self):
        for n in 2, 10, 1000, len(self.packed) - 1:
            with self.assertRaises(EOFError):
                gzlzss.decompress(self.packed[:n])

    def test_damaged_is_both_errors(self):
        broken = bytearray(self.packed)
        broken[-5] ^= 1
        for error in gzip.BadGzipFile, zlib.error, gzlzss.DataError, OSError:
            with self.assertRaises(error):
                gzlzss.decompress(broken)
        broken = bytearray(self.packed)
        broken[5000:5100] = bytes(100)
        with self.assertRaises(zlib.error):
            gzlzss.decompress(broken)

    def test_texts_are_those_of_gzip(self):
        for at, text in (-5, "CRC check failed"), (-1, "Incorrect length of data produced"), \
                (2, "Unknown compression method"):
            for size in 100, 5_000_000:
                broken = bytearray(gzipped(size))
                broken[at] ^= 4
                for call in (lambda: gzip.decompress(broken), lambda: gzlzss.decompress(broken),
                             lambda: gzlzss.open(io.BytesIO(broken)).read(),
                             lambda: list(iter(lambda: f.read(1000), b""))):
                    with self.subTest(at=at, size=size), gzlzss.open(io.BytesIO(broken)) as f, \
                            self.assertRaisesRegex(gzip.BadGzipFile, text):
                        call()

    def test_garbage(self):
        for after in b"garbage", b"x", b"\x1f":
            for data in self.packed + after, memoryview(self.packed + after):
                with self.assertRaises(gzip.BadGzipFile):
                    gzlzss.decompress(data)
        with self.assertRaises(EOFError):
            gzlzss.decompress(self.packed + b"\x1f\x8b")
        with self.assertRaises(EOFError):
            gzlzss.decompress(self.packed[:self.packed.rindex(b"\x1f") + 1])

    def test_levels(self):
        for level in -2, 13, 100:
            with self.assertRaises(ValueError):
                gzlzss.compress(b"", level)
        self.assertEqual(gzlzss.compress(b"x", -1), gzlzss.compress(b"x", 6))


class Kept(unittest.TestCase):
    """The memory of objects that are kept after their end."""

    COUNT = 300
    MOST = 20 << 10  # bytes for each
    pool = gzlzss.Pool(1)

    def check(self, make):
        """Checks how much memory make() keeps."""
        kept = [make() for _ in range(20)]
        before = self.resident()
        kept += [make() for _ in range(self.COUNT)]
        self.assertLess((self.resident() - before) / self.COUNT, self.MOST)

    def resident(self):
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    def test_compressors(self):
        for size in 100_000, 300_000:
            def make():
                obj = _core.Compressor(self.pool.crew())
                obj.compress(text(size))
                obj.flush(1)
                return obj

            with self.subTest(size=size):
                self.check(make)

    def test_stream_of_the_library(self):
        """It is too small for resident(), so this asks the C library."""
        class Info(ctypes.Structure):
            _fields_ = [(name, ctypes.c_size_t) for name in (
                "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
                "fordblks", "keepcost")]

        def in_use():
            info = mallinfo2()
            return info.uordblks + info.hblkhd

        def make():
            obj = _core.Compressor(self.pool.crew())
            obj.compress(text(300_000))
            obj.flush(1)
            return obj

        mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
        if mallinfo2 is None:
            self.skipTest("the C library has no mallinfo2")
        mallinfo2.restype = Info
        kept = [make() for _ in range(20)]
        before = in_use()
        kept += [make() for _ in range(self.COUNT)]
        self.assertLess((in_use() - before) / self.COUNT, 400)

    def test_failed_compressor(self):
        def make():
            obj = _core.Compressor(self.pool.crew())
            obj.compress(text(300_000))
            self.pool.cancel()
            with self.assertRaises(gzlzss.CancelledError):
                obj.flush(1)
            return obj

        self.check(make)

    def test_files(self):
        class Nowhere(io.RawIOBase):
            def writable(self):
                return True

            def write(self, data):
                return len(data)

        nowhere = Nowhere()
        for size in 100_000, 300_000:
            for is_broken in False, True:
                def make():
                    f = gzlzss.open(nowhere, "wb", pool=self.pool)
                    f.write(text(size))
                    f._raw._is_broken = is_broken
                    if is_broken:
                        with self.assertRaises(OSError):
                            f.close()
                    f.close()
                    return f

                with self.subTest(size=size, is_broken=is_broken):
                    self.check(make)


class ZlibModule(unittest.TestCase):
    def test_formats(self):
        for size in 0, 10, 100_000, 400_000:
            for wbits in 15, 31, -15:
                with self.subTest(size=size, wbits=wbits):
                    packed = gzlzss.zlib.compress(text(size), 6, wbits)
                    self.assertEqual(zlib.decompress(packed, wbits), text(size))
                    self.assertEqual(gzlzss.zlib.decompress(packed, wbits), text(size))
                    obj = gzlzss.zlib.compressobj(6, wbits=wbits)
                    self.assertEqual(obj.compress(text(size)) + obj.flush(), packed)

    def test_what_zlib_does(self):
        obj = gzlzss.zlib.compressobj(zdict=b"dictionary")
        packed = obj.compress(b"a dictionary") + obj.flush()
        d = gzlzss.zlib.decompressobj(zdict=b"dictionary")
        self.assertEqual(d.decompress(packed), b"a dictionary")
        obj = gzlzss.zlib.compressobj(wbits=9)
        packed = obj.compress(text(9999)) + obj.flush()
        self.assertEqual(zlib.decompress(packed, 9), text(9999))

    def test_flush_modes(self):
        for size in 0, 100, 200_000:
            for mode in zlib.Z_PARTIAL_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_BLOCK:
                obj = gzlzss.compressobj(wbits=15)
                d = gzlzss.decompressobj(15)
                first = obj.compress(text(size)) + obj.flush(mode)
                self.assertEqual(d.decompress(first), text(size))
                self.assertEqual(obj.flush(zlib.Z_NO_FLUSH), b"")
                self.assertEqual(d.decompress(obj.compress(b"end") + obj.flush()), b"end")
                self.assertTrue(d.eof)

    def trace_flushes(self, module, calls):
        """Returns, for each call, whether the output ends as that of a flush; c is compress() of
        bytes, e of none."""
        modes = {"N": zlib.Z_NO_FLUSH, "B": zlib.Z_BLOCK, "P": zlib.Z_PARTIAL_FLUSH,
                 "S": zlib.Z_SYNC_FLUSH, "F": zlib.Z_FULL_FLUSH}
        obj = module.compressobj(6, wbits=-15)
        d = zlib.decompressobj(-15)
        ends = []
        for i, call in enumerate(calls):
            if call in modes:
                out = obj.flush(modes[call])
                ends.append(call in "SF" and out.endswith(b"\0\0\xff\xff"))
            else:
                out = obj.compress(b"some bytes" if call == "c" else b"")
            d.decompress(out)
        self.assertEqual(d.decompress(obj.flush()), b"")
        self.assertTrue(d.eof)
        return ends

    def test_flushes_end_as_those_of_zlib(self):
        for calls in itertools.product("ceNBPSF", repeat=4):
            with self.subTest(calls="".join(calls)):
                calls += "S",
                self.assertEqual(self.trace_flushes(gzlzss.zlib, calls),
                                 self.trace_flushes(zlib, calls))

    def test_empty_messages(self):
        # As aiohttp and websockets do: the end of each message is cut off, and added again.
        obj = gzlzss.compressobj(wbits=-15)
        d = zlib.decompressobj(-15)
        for message in b"", b"one", b"", b"", b"one two", b"":
            out = obj.compress(message) + obj.flush(zlib.Z_SYNC_FLUSH)
            self.assertTrue(out.endswith(b"\0\0\xff\xff"))
            self.assertEqual(d.decompress(out[:-4] + b"\0\0\xff\xff"), message)

    def test_full_flush_starts_anew(self):
        obj = gzlzss.compressobj(wbits=-15)
        obj.compress(text(1000))
        obj.flush(zlib.Z_FULL_FLUSH)
        rest = obj.compress(text(1000)) + obj.flush()
        self.assertEqual(zlib.decompress(rest, -15), text(1000))

    def test_after_the_end(self):
        obj = gzlzss.compressobj()
        obj.flush()
        for call in (lambda: obj.compress(b"x")), obj.flush, (lambda: obj.flush(zlib.Z_SYNC_FLUSH)):
            with self.assertRaises(zlib.error):
                call()
        with self.assertRaises(zlib.error):
            gzlzss.compressobj().flush(99)

    def test_copy(self):
        obj = gzlzss.compressobj()
        obj.compress(b"one ")
        other = obj.copy()
        self.assertEqual(gzip.decompress(obj.compress(b"two") + obj.flush()), b"one two")
        self.assertEqual(gzip.decompress(other.compress(b"three") + other.flush()), b"one three")
        obj = gzlzss.compressobj()
        obj.compress(text(200_000))
        with self.assertRaises(ValueError):
            obj.copy()

    def test_decompressobj(self):
        d = gzlzss.decompressobj()
        out = d.decompress(gzipped(1000) + b"rest", 100)
        self.assertEqual(out, text(1000)[:100])
        out += d.decompress(d.unconsumed_tail)
        self.assertEqual((out, d.unused_data, d.eof), (text(1000), b"rest", True))

    def test_errors_are_zlibs(self):
        for data in b"", b"nonsense", zlib.compress(text(1000))[:-1]:
            with self.assertRaises(zlib.error) as ours:
                gzlzss.zlib.decompress(data)
            with self.assertRaises(zlib.error) as theirs:
                zlib.decompress(data)
            self.assertEqual(str(ours.exception), str(theirs.exception))
        for level, wbits in (-2, 15), (13, 15), (6, 99), (11, 9):
            with self.assertRaisesRegex(zlib.error, "Bad compression level"):
                gzlzss.zlib.compress(b"data", level, wbits)
        self.assertEqual(gzlzss.zlib.decompress(zlib.compress(b"x") + b"rest"), b"x")
        # The library also reads the formats of compress, pack and zip.
        with self.assertRaises(zlib.error):
            gzlzss.zlib.decompress(b"\x1f\x9d\x90a\0", 31)


if __name__ == "__main__":
    unittest.main()
