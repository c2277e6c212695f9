"""open and GzipFile."""
import array
import contextlib
import errno
import gzip
import io
import os
import pathlib
import random
import socket
import tarfile
import tempfile
import threading
import unittest
import unittest.mock

import gzlzss
from data import gzipped, noise, text

BIG = 6_000_000


@contextlib.contextmanager
def small_blocks(ahead=300_000):
    """Makes a source read small blocks ahead, soon after a seek. A block must be larger than the
    reads of the buffer, or none is read ahead."""
    assert ahead > gzlzss.READ_BUFFER_SIZE
    with unittest.mock.patch.multiple("gzlzss._source", AHEAD_AFTER=10_000, AHEAD=ahead):
        yield


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "file.gz"

    def content(self):
        return self.path.read_bytes()


class Writing(Folder):
    def test_gzip_reads_it(self):
        for size in 0, 1, 100_000, BIG:
            with gzlzss.open(self.path, "wb") as f:
                self.assertEqual(f.write(text(size)), size)
                self.assertEqual(f.tell(), size)
            self.assertEqual(gzip.open(self.path).read(), text(size))

    def test_header(self):
        with gzlzss.open(self.path, "wb", mtime=77) as f:
            f.write(b"x")
            self.assertEqual(f.mtime, 77)
        self.assertEqual(self.content()[:15], b"\x1f\x8b\x08\x08\x4d\0\0\0\0\x03file\0")
        with gzlzss.open(self.path) as f:
            self.assertIsNone(f.mtime)
            f.read()
            self.assertEqual(f.mtime, 77)

    def test_many_small_writes_are_one_call(self):
        data = text(1_000_000)
        out = io.BytesIO()
        with gzlzss.open(out, "wb", mtime=0) as f:
            for line in data.splitlines(True):
                f.write(line)
        self.assertEqual(out.getvalue(), gzlzss.compress(data))

    def test_text_adds_no_flush(self):
        out = io.BytesIO()
        with gzlzss.open(out, "wt", mtime=0, newline="") as f:
            f.write(text(1000).decode())
        self.assertEqual(out.getvalue(), gzlzss.compress(text(1000)))

    def test_append_and_create(self):
        with gzlzss.open(self.path, "xb") as f:
            f.write(b"one ")
        with self.assertRaises(FileExistsError):
            gzlzss.open(self.path, "xb")
        with gzlzss.open(self.path, "at") as f:
            f.write("two")
        self.assertEqual(gzip.open(self.path).read(), b"one two")
        self.assertEqual(gzlzss.open(self.path, "rt").read(), "one two")

    def test_flush(self):
        out = io.BytesIO()
        f = gzlzss.GzipFile(fileobj=out, mode="wb")
        f.write(b"seen")
        f.flush()
        d = gzlzss.decompressobj()
        self.assertEqual(d.decompress(out.getvalue()), b"seen")
        with self.assertRaises(ValueError):
            f.flush(99)
        f.close()
        self.assertEqual(gzip.decompress(out.getvalue()), b"seen")
        self.assertFalse(out.closed)

    def test_seek_over_zeros(self):
        with gzlzss.open(self.path, "wb") as f:
            f.write(b"a")
            self.assertEqual(f.seek(100_000), 100_000)
            self.assertEqual(f.seek(5, io.SEEK_CUR), 100_005)
            f.write(b"b")
            with self.assertRaises(OSError):
                f.seek(3)
        self.assertEqual(gzip.open(self.path).read(), b"a" + bytes(100_004) + b"b")

    def test_raw_file_that_takes_little(self):
        class Slow(io.RawIOBase):
            def __init__(self):
                super().__init__()
                self.got = b""

            def writable(self):
                return True

            def write(self, data):
                self.got += bytes(data[:1000])
                return min(len(data), 1000)

        slow = Slow()
        with gzlzss.open(slow, "wb") as f:
            f.write(noise(300_000))
        self.assertEqual(gzip.decompress(slow.got), noise(300_000))

    def test_failed_write_leaves_no_whole_file(self):
        class Full(io.BytesIO):
            is_full = True

            def write(self, data):
                if self.is_full:
                    raise OSError(28, "No space left on device")
                return super().write(data)

        full = Full()
        full.is_full = False
        f = gzlzss.open(full, "wb", threads=1, block_size=32768)
        full.is_full = True
        with self.assertRaisesRegex(OSError, "No space"):
            for _ in range(100):
                f.write(noise(1_000_000))
        full.is_full = False
        # Each further call says so, also one that would only fill the buffer.
        for call in (lambda: f.write(b"x"), lambda: f.write(noise(1_000_000)), f.flush,
                     lambda: f.seek(1 << 30), f.close):
            with self.assertRaisesRegex(OSError, "incomplete.*No space") as caught:
                call()
            self.assertEqual(caught.exception.errno, 28)
        self.assertTrue(f.closed)
        f.close()
        with self.assertRaises(EOFError):
            gzip.decompress(full.getvalue())

    def test_arrays(self):
        data = array.array("d", range(100))
        with gzlzss.open(self.path, "wb") as f:
            self.assertEqual(f.write(data), 800)
        self.assertEqual(gzip.open(self.path).read(), data.tobytes())


class Reading(Folder):
    def write(self, data):
        self.path.write_bytes(data)

    def test_reads_gzip(self):
        for size in 0, 1, 100_000, BIG:
            self.write(gzipped(size))
            with gzlzss.open(self.path) as f:
                self.assertEqual(f.read(), text(size))
                self.assertEqual(f.read(), b"")
                self.assertEqual(f.tell(), size)
            with gzlzss.open(self.path) as f:
                parts = []
                while part := f.read(70_001):
                    parts.append(part)
                self.assertEqual(b"".join(parts), text(size))

    def test_lines(self):
        self.write(gzipped(BIG))
        with gzlzss.open(self.path) as f:
            self.assertEqual(list(f), text(BIG).splitlines(True))
        with gzlzss.open(self.path, "rt") as f:
            self.assertEqual(list(f), text(BIG).decode().splitlines(True))
        with gzlzss.open(self.path) as f:
            first = f.readline()
            self.assertEqual(first + f.readline(), b"".join(text(BIG).splitlines(True)[:2]))
            self.assertEqual(f.peek(1)[:1], text(BIG)[f.tell():f.tell() + 1])
            self.assertEqual(f.readlines(1), [text(BIG).splitlines(True)[2]])

    def test_ways_to_read(self):
        self.write(gzipped(BIG))
        with gzlzss.open(self.path) as f:
            out = bytearray(500_000)
            self.assertEqual(f.readinto(out), 500_000)
            self.assertEqual(out, text(BIG)[:500_000])
            one = f.read1(10)
            self.assertEqual(one, text(BIG)[500_000:500_000 + len(one)])
            n = f.readinto1(out)
            place = 500_000 + len(one)
            self.assertEqual(out[:n], text(BIG)[place:place + n])
            self.assertGreater(len(f.read1()), 0)

    def test_members(self):
        self.write(gzipped(100) + gzlzss.compress(text(BIG)) + gzipped(3) + bytes(512))
        self.assertEqual(gzlzss.open(self.path).read(), text(100) + text(BIG) + text(3))

    def test_bomb_is_read_by_the_stream(self):
        self.write(gzip.compress(bytes(40_000_000)))
        with gzlzss.open(self.path) as f:
            self.assertEqual(f.read(10), bytes(10))
            self.assertEqual(f.seek(0, io.SEEK_END), 40_000_000)

    def test_errors(self):
        for size in 1000, BIG:
            good = gzipped(size)
            bad_crc = good[:-8] + bytes(4) + good[-4:]
            for data, error in ((good[:-1], EOFError), (good[:len(good) // 2], EOFError),
                                (bad_crc, gzip.BadGzipFile), (good + b"x", gzip.BadGzipFile),
                                (good + b"\x1f", gzip.BadGzipFile), (good + b"\x1f\x8b", EOFError),
                                (b"nothing" * 1000, gzip.BadGzipFile)):
                self.write(data)
                for n in -1, 10_000:
                    with gzlzss.open(self.path) as f, self.assertRaises(error):
                        while f.read(n):
                            pass
                with gzlzss.open(io.BytesIO(data)) as f, self.assertRaises(error):
                    while f.read(10_000):
                        pass

    def test_data_before_an_error(self):
        self.write(gzipped(1000)[:-9])
        with gzlzss.open(self.path) as f:
            self.assertEqual(f.read1(400), text(400))

    def test_not_gzip_stays_an_error(self):
        self.write(b"no gzip")
        with gzlzss.open(self.path) as f:
            for _ in range(2):
                with self.assertRaisesRegex(gzip.BadGzipFile, r"b'no'"):
                    f.read()

    def test_pipe(self):
        for size in 100, BIG:
            r, w = os.pipe()

            def fill():
                with open(w, "wb") as pipe:
                    pipe.write(gzipped(size))

            thread = threading.Thread(target=fill)
            thread.start()
            with open(r, "rb", 0) as raw, gzlzss.open(raw) as f:
                self.assertEqual(f.read(), text(size))
                with self.assertRaises(io.UnsupportedOperation):
                    f.seek(0)
            thread.join()

    def test_pipe_gives_what_has_come(self):
        r, w = os.pipe()
        with open(r, "rb") as pipe, gzlzss.open(pipe) as f, open(w, "wb", 0) as out:
            packer = gzlzss.compressobj()
            out.write(packer.compress(b"line one\n") + packer.flush(gzlzss.zlib.Z_SYNC_FLUSH))
            self.assertEqual(f.readline(), b"line one\n")
            out.write(packer.compress(b"line two\n") + packer.flush(gzlzss.zlib.Z_SYNC_FLUSH))
            self.assertEqual(f.readline(), b"line two\n")

    def test_socket(self):
        a, b = socket.socketpair()
        with a, b:
            with b.makefile("wb") as out, gzlzss.open(out, "wt") as f:
                f.write("over a socket")
            b.close()
            with a.makefile("rb") as source, gzlzss.open(source, "rt") as f:
                self.assertEqual(f.read(), "over a socket")

    def test_only_read_is_needed(self):
        class Least:
            def __init__(self, data):
                self.data = io.BytesIO(data)

            def read(self, n):
                return self.data.read(min(n, 3000))

        with gzlzss.open(Least(gzipped(BIG))) as f:
            self.assertEqual(f.read(), text(BIG))


class Failing:
    """A file that is not Python's. Its read raises each of `errors` once, at its place."""

    def __init__(self, data, can_seek):
        self.data = io.BytesIO(data)
        self.can_seek = can_seek
        self.errors = {}
        self.tell = self.data.tell
        self.seek = self.data.seek

    def seekable(self):
        return self.can_seek

    def read(self, size):
        for place in self.errors:
            if self.data.tell() >= place:
                raise self.errors.pop(place)
        return self.data.read(min(size, 50_000))


class Places(Folder):
    def files(self, packed):
        """The same data in files of many kinds."""
        class Seekable(io.RawIOBase):
            """No file of the system, so there is no Reader for it."""
            def __init__(self):
                super().__init__()
                self.data = io.BytesIO(packed)
                self.readable = self.seekable = lambda: True
                self.readinto, self.seek = self.data.readinto, self.data.seek
                self.tell = self.data.tell

        self.path.write_bytes(packed)
        yield gzlzss.open(self.path)
        yield gzlzss.open(io.BytesIO(packed))
        yield gzlzss.open(Seekable())
        with open(self.path, "rb", 0) as raw:
            yield gzlzss.open(raw)

    def test_random_places(self):
        r = random.Random(5)
        for size in 100_000, BIG:
            data = text(size)
            for packed in gzipped(size), gzlzss.compress(data), bgzf(data):
                for f in self.files(packed):
                    with f:
                        for _ in range(12):
                            place = r.randrange(size + 1000)
                            n = r.choice([1, 1000, 200_000])
                            self.assertEqual(f.seek(place), min(place, size))
                            self.assertEqual(f.read(n), data[place:place + n])
                            self.assertEqual(f.tell(), min(max(place, min(place, size)) + n, size)
                                             if place <= size else size)

    def test_reading_on_after_a_seek(self):
        for place in 10, BIG // 2, BIG - 100_000:
            for packed in gzipped(BIG), bgzf(text(BIG)):
                for f in self.files(packed):
                    with f, small_blocks():
                        f.seek(place)
                        parts = []
                        while part := f.read(7777):
                            parts.append(part)
                        self.assertTrue(b"".join(parts) == text(BIG)[place:])
                        f.seek(-50, io.SEEK_CUR)
                        self.assertEqual(f.read(), text(BIG)[-50:])
                        f.seek(place + 1_000_000)
                        self.assertEqual(f.read(9), text(BIG)[place + 1_000_000:][:9])

    def test_reading_on_without_memory(self):
        self.path.write_bytes(gzipped(BIG))
        with gzlzss.open(self.path) as f, small_blocks(ahead=1 << 62):
            f.seek(BIG // 2)
            for place in range(BIG // 2, BIG, 100_000):
                self.assertTrue(f.read(100_000) == text(BIG)[place:place + 100_000])

    def test_data_before_an_error_after_a_seek(self):
        self.path.write_bytes(gzipped(BIG)[:-1000])
        with gzlzss.open(self.path) as f, small_blocks():
            f.seek(BIG // 3)
            parts = []
            with self.assertRaises(EOFError):
                while part := f.read(1000):
                    parts.append(part)
        data = b"".join(parts)
        self.assertGreater(len(data), BIG // 2)
        self.assertTrue(data == text(BIG)[BIG // 3:][:len(data)])

    def test_whence(self):
        self.path.write_bytes(gzipped(BIG))
        with gzlzss.open(self.path) as f:
            self.assertEqual(f.seek(-10, io.SEEK_END), BIG - 10)
            self.assertEqual(f.read(), text(BIG)[-10:])
            f.seek(5)
            self.assertEqual(f.seek(5, io.SEEK_CUR), 10)
            self.assertEqual(f.size(), BIG)
            self.assertEqual(f.tell(), 10)
            f.rewind()
            self.assertEqual(f.read(5), text(BIG)[:5])
            with self.assertRaises(ValueError):
                f.seek(0, 9)

    def test_file_that_is_closed_early(self):
        """Its descriptor's number then belongs to another file, which must not be read."""
        self.path.write_bytes(gzipped(BIG))
        other = self.folder / "other.gz"
        other.write_bytes(gzipped(BIG, seed=2))
        raw = open(self.path, "rb")
        with gzlzss.open(raw) as f:
            f.seek(5_000_000)
            self.assertEqual(f.read(11), text(BIG)[5_000_000:5_000_011])
            number = raw.fileno()
            raw.close()
            with open(other, "rb") as second:
                self.assertEqual(second.fileno(), number)
                with self.assertRaises(ValueError):
                    f.seek(2_200_000)
                    f.read(11)

    def test_reader_has_its_own_descriptor(self):
        self.path.write_bytes(gzipped(BIG))
        fds = os.listdir("/proc/self/fd")
        with open(self.path, "rb") as raw:
            reader = gzlzss._core.Reader(gzlzss.Pool(1).crew(), raw.fileno())
        got = bytearray(11)
        self.assertEqual(reader.readinto(got, 2_200_000), 11)
        self.assertEqual(got, text(BIG)[2_200_000:2_200_011])
        del reader
        self.assertEqual(os.listdir("/proc/self/fd"), fds)

    def test_member_inside_a_file(self):
        self.path.write_bytes(b"before" + gzipped(BIG))
        with open(self.path, "rb") as outer:
            outer.seek(6)
            with gzlzss.open(outer) as f:
                self.assertEqual(f.read(100), text(BIG)[:100])
                f.seek(5_000_000)
                self.assertEqual(f.read(100), text(BIG)[5_000_000:5_000_100])
                f.seek(0)
                self.assertEqual(f.read(), text(BIG))

    def test_indexes(self):
        data = text(BIG) * 4
        for packed in gzip.compress(data, 1), bgzf(data):
            for format in "gztool", "indexed_gzip":
                self.path.write_bytes(packed)
                index = self.folder / "index"
                with gzlzss.open(self.path) as f:
                    f.export_index(index, format)
                    offsets = f.block_offsets()
                    self.assertTrue(f.block_offsets_complete())
                with gzlzss.open(self.path) as f:
                    f.import_index(index)
                    f.seek(len(data) - 1000)
                    self.assertEqual(f.read(), data[-1000:])
                    f.seek(0)
                    self.assertEqual(f.read(), data)
                with gzlzss.open(self.path) as f, open(index, "rb") as source:
                    f.import_index(source)
                    self.assertEqual(f.read(100), data[:100])
                    with self.assertRaises(ValueError):
                        f.import_index(index)
                self.assertGreater(len(offsets), 2)
                self.assertEqual(sorted(offsets), sorted(offsets, key=offsets.get))
                self.assertEqual(min(offsets.values()), 0)
                self.assertLess(max(offsets), 8 * len(packed))
                with gzlzss.open(self.path) as f, self.assertRaises(ValueError):
                    f.export_index(index, "none")

    def test_reading_all_with_an_index_checks_the_crc(self):
        for packed in gzipped(BIG), gzlzss.compress(text(BIG)), gzipped(1000):
            index = io.BytesIO()
            gzlzss.open(io.BytesIO(packed)).export_index(index)
            self.path.write_bytes(packed[:-8] + bytes(4) + packed[-4:])
            for n in -1, 10_000:
                with gzlzss.open(self.path) as f:
                    f.import_index(io.BytesIO(index.getvalue()))
                    with self.assertRaises(gzlzss.DataError):
                        while f.read(n):
                            pass

    def test_block_offsets_are_places_of_blocks(self):
        data = text(BIG) * 4
        packed = gzip.compress(data, 1)
        offsets = gzlzss.open(io.BytesIO(packed)).block_offsets()
        self.assertTrue(any(bit % 8 for bit in offsets))
        for bit, place in offsets.items():
            # Move the bits so that the block begins at a byte.
            part = int.from_bytes(packed[bit // 8:bit // 8 + 50_000], "little") >> bit % 8
            window = data[max(place - 32768, 0):place]
            d = gzlzss.zlib.decompressobj(-15, zdict=window)
            self.assertEqual(d.decompress(part.to_bytes(50_000, "little"), 1000),
                             data[place:place + 1000])

    def test_block_offsets_of_bgzf_are_members(self):
        data = text(1_000_000)
        packed = bgzf(data)
        for bit, place in gzlzss.open(io.BytesIO(packed)).block_offsets().items():
            d = gzlzss.decompressobj()
            self.assertEqual(d.decompress(packed[bit // 8:]), data[place:place + 65280])

    def test_empty_file(self):
        self.path.write_bytes(b"")
        for source in self.path, io.BytesIO(), Failing(b"", True):
            for whence, offset in (io.SEEK_END, 0), (io.SEEK_END, -5), (io.SEEK_SET, 5_000_000):
                with self.subTest(source=source, whence=whence), gzlzss.open(source) as f:
                    self.assertEqual(f.seek(offset, whence), 0)
                    self.assertEqual(f.size(), 0)
                    self.assertEqual(f.read(), b"")
        with gzlzss.open(self.path) as f:
            self.assertEqual(f.seek(0, io.SEEK_END), 0)
            self.path.write_bytes(gzipped(10))
            self.assertEqual(f.seek(0, io.SEEK_END), 10)

    def test_end_of_a_file_without_seek(self):
        packed = gzipped(BIG)
        with gzlzss.open(Failing(packed, False)) as f:
            f.read(10)
            for call in f.size, lambda: f.seek(-5, io.SEEK_END):
                with self.assertRaises(io.UnsupportedOperation):
                    call()
            self.assertTrue(f.read(BIG // 2) == text(BIG)[10:10 + BIG // 2])
            self.assertEqual(f.seek(0, io.SEEK_END), BIG)
            self.assertEqual(f.size(), BIG)
            with self.assertRaises(io.UnsupportedOperation):
                f.seek(-5, io.SEEK_END)
            self.assertEqual(f.tell(), BIG)

    def test_seek_that_fails_on_its_way(self):
        """Afterwards, the data is that of the place that tell() says."""
        data = random.Random(4).randbytes(6_000_000)
        packed = gzip.compress(data, 1)
        for error in OSError(errno.EIO, "I/O error"), BlockingIOError(errno.EAGAIN, "no data"):
            for can_seek in True, False:
                for call in (lambda f: f.seek(5_000_000), lambda f: f.seek(4_999_990, io.SEEK_CUR),
                             lambda f: f.seek(0, io.SEEK_END), lambda f: f.size()):
                    source = Failing(packed, can_seek)
                    with gzlzss.open(source) as f:
                        self.assertEqual(f.read(10), data[:10])
                        source.errors[3_000_000] = error
                        try:
                            call(f)
                        except OSError:
                            source.errors.clear()  # it may have refused before it has read
                        place = f.tell()
                        with self.subTest(error=error, can_seek=can_seek, place=place):
                            self.assertTrue(f.read() == data[place:])

    def test_past_the_end(self):
        for packed in gzipped(1000), gzipped(BIG), bgzf(text(BIG)):
            size = len(gzip.decompress(packed))
            for f in self.files(packed):
                with f:
                    f.seek(size - 5)
                    self.assertEqual(f.seek(size + 5_000_000), size)
                    self.assertEqual(f.read(), b"")
                    self.assertEqual(f.seek(size), size)

    def test_wrong_index(self):
        self.path.write_bytes(gzipped(BIG))
        other = io.BytesIO()
        gzlzss.open(io.BytesIO(gzipped(BIG, 2))).export_index(other, "indexed_gzip")
        for index, error, words in ((b"nonsense" * 100, gzip.BadGzipFile, "Not an index"),
                                    (other.getvalue(), gzlzss.DataError, "another file's"),
                                    (other.getvalue()[:-7], gzlzss.DataError, "damaged")):
            with gzlzss.open(self.path) as f:
                with self.assertRaisesRegex(error, words):
                    f.import_index(io.BytesIO(index))
                # The file can be read without it.
                f.seek(BIG - 10)
                self.assertEqual(f.read(), text(BIG)[-10:])
        # A number would be a descriptor, and would be closed.
        with gzlzss.open(self.path) as f:
            for call in f.import_index, f.export_index:
                with self.assertRaises(TypeError):
                    call(0)

    def test_tell_compressed(self):
        self.path.write_bytes(gzipped(BIG))
        with gzlzss.open(self.path) as f:
            self.assertEqual(f.tell_compressed(), 0)
            f.read(BIG // 2)
            half = f.tell_compressed()
            self.assertTrue(0 < half <= 8 * len(gzipped(BIG)))
            f.read()
            self.assertGreaterEqual(f.tell_compressed(), half)

    def test_tell_compressed_after_seeks(self):
        """It is about the place in the file, also before the next read."""
        for packed in gzipped(BIG), gzlzss.compress(text(BIG)), bgzf(text(BIG)):
            for f in self.files(packed):
                with f:
                    for place in BIG // 2, BIG - 10, BIG // 4, BIG * 3 // 4, 2_000_000, BIG, 5:
                        f.seek(place)
                        about = len(packed) * place // BIG
                        told = f.tell_compressed() // 8
                        with self.subTest(place=place):
                            self.assertLessEqual(told, len(packed))
                            if f._raw._by_reader:
                                self.assertGreaterEqual(told, about * 9 // 10)
                                self.assertLess(told, about + len(packed) // 3)
                            else:  # a stream takes a MiB at a time
                                self.assertGreaterEqual(told, about - (1 << 20))
        for f in self.files(gzipped(100_000)):
            with f:
                f.seek(50_000)
                self.assertAlmostEqual(f.tell_compressed() / len(gzipped(100_000)), 4, delta=0.1)


def bgzf(data):
    return gzlzss.Pool(bgzf=True).crew().compress(data)


class Arguments(Folder):
    def test_closed(self):
        self.path.write_bytes(gzipped(1000))
        f = gzlzss.open(self.path)
        f.close()
        f.close()
        self.assertTrue(f.closed)
        for call in (f.read, f.tell, f.fileno, f.readline, f.peek, f.flush, f.readable, f.size,
                     lambda: f.write(b""), lambda: f.seek(0), lambda: iter(f)):
            with self.assertRaises(ValueError):
                call()

    def test_wrong_direction(self):
        with gzlzss.open(self.path, "wb") as f:
            for call in f.read, f.readline, f.peek, f.size, f.block_offsets, lambda: iter(f):
                with self.assertRaises(OSError):
                    call()
            self.assertFalse(f.readable())
        with gzlzss.open(self.path) as f:
            with self.assertRaises(OSError):
                f.write(b"")
            self.assertFalse(f.writable())
            f.flush()

    def test_wrong_arguments(self):
        for mode in "", "z", "rw", "rbt":
            with self.assertRaises(ValueError):
                gzlzss.open(self.path, mode).close()
        for kwargs in {"encoding": "ascii"}, {"errors": "ignore"}, {"newline": "\n"}:
            with self.assertRaises(ValueError):
                gzlzss.open(self.path, "wb", **kwargs)
        for name in 1, None, []:
            with self.assertRaises(TypeError):
                gzlzss.open(name)
        with self.assertRaises(FileNotFoundError):
            gzlzss.open(self.path)
        with self.assertRaises(ValueError):
            gzlzss.open(self.path, "wb", 13)
        with self.assertRaises(ValueError):
            gzlzss.open(self.path, "wb", threads=2, pool=gzlzss.Pool())
        with gzlzss.open(self.path, "wb") as f, self.assertRaises(TypeError):
            f.write("text")

    def test_attributes(self):
        with gzlzss.open(self.path, "wb") as f:
            self.assertEqual((f.name, f.mode), (str(self.path), "wb"))
            self.assertEqual(f.fileno(), f.fileobj.fileno())
            self.assertIn("gzlzss", repr(f))
        with gzlzss.open(os.fsencode(self.path)) as f:
            self.assertEqual((f.name, f.mode), (os.fsencode(self.path), "rb"))

    def test_isal_order(self):
        with gzlzss.open(self.path, "wt", 1, "utf-16", "strict", "\r\n", threads=2,
                         block_size=1 << 20) as f:
            f.write("a\n")
        self.assertEqual(gzip.open(self.path).read(), "a\r\n".encode("utf-16"))

    def test_tar(self):
        with gzlzss.open(self.path, "wb") as f, tarfile.open(fileobj=f, mode="w") as tar:
            for name in "one", "two":
                info = tarfile.TarInfo(name)
                info.size = 500_000
                tar.addfile(info, io.BytesIO(noise(500_000)))
        with tarfile.open(self.path) as tar:
            self.assertEqual(tar.extractfile("two").read(), noise(500_000))
        with gzlzss.open(self.path) as f, tarfile.open(fileobj=f) as tar:
            self.assertEqual(tar.getnames(), ["one", "two"])
            self.assertEqual(tar.extractfile("one").read(), noise(500_000))


if __name__ == "__main__":
    unittest.main()
