"""Files that grow or change while they are read, files that do not block, zeros between members."""
import fcntl
import gzip
import io
import os
import pathlib
import random
import socket
import tempfile
import threading
import time
import unittest
from unittest import mock

import gzlzss
from data import gzipped, noise, text

BIG = 3_000_000


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "file.gz"

    def append(self, data):
        with open(self.path, "ab") as file:
            file.write(data)


class Other(io.RawIOBase):
    """A file that is not the system's; nothing tells whether it has changed."""

    def __init__(self, path):
        super().__init__()
        self.file = open(path, "rb", 0)
        self.readable = self.seekable = lambda: True
        self.readinto, self.seek, self.tell = self.file.readinto, self.file.seek, self.file.tell

    def close(self):
        self.file.close()
        super().close()


class Once(io.BytesIO):
    """A file that must not be read on after its end, as in CPython's tests of tarfile."""

    def read(self, size=-1):
        if self.tell() == len(self.getvalue()) > 0:
            raise AssertionError("read on after the end")
        return super().read(size)


class Growing(Folder):
    def test_one_read_does_not_ask_for_more_after_the_end(self):
        for data in b"B", b"BZh91AY", b"\x1f\x8c":
            with self.subTest(data=data), self.assertRaises(gzip.BadGzipFile):
                gzlzss.GzipFile(fileobj=Once(data)).read(1)
        empty = mock.Mock(wraps=io.BytesIO())
        self.assertEqual(gzlzss.GzipFile(fileobj=empty).read(1), b"")
        self.assertEqual(empty.read.call_count, 1)

    def opened(self):
        """The file in all ways that are read differently."""
        yield lambda: gzlzss.open(self.path)
        yield lambda: gzlzss.open(self.keep(open(self.path, "rb", 0)))
        yield lambda: gzlzss.open(self.keep(Other(self.path)))

    def keep(self, file):
        self.addCleanup(file.close)
        return file

    def test_members_that_are_appended(self):
        for start in b"", gzip.compress(b"first\n"), gzipped(BIG):
            for way in range(3):
                for how in "read", "readline", "read1", "lines", "seek":
                    with self.subTest(start=len(start), way=way, how=how):
                        self.path.write_bytes(start)
                        f = list(self.opened())[way]()
                        got = f.read()
                        if how == "seek" and len(got) > 10:
                            f.seek(3)
                            got = got[:3] + f.read()
                        want = gzip.decompress(start)
                        for i in range(4):
                            piece = b"next %d\n" % i
                            if i == 2:
                                self.append(bytes(700))  # and zeros between members
                            self.append(gzip.compress(piece))
                            want += piece
                            if how == "lines":
                                got += b"".join(f)
                            elif how == "seek":
                                got += f.read()
                            else:
                                got += getattr(f, how)()
                        self.assertTrue(got == want)
                        self.assertEqual(f.read(), b"")
                        self.assertEqual(f.tell(), len(want))
                        f.close()

    def follow(self, how, first, later):
        """Reads a file that is being written, until its end is there."""
        want, got, cut = [], [], 0
        writer = gzip.open(self.path, "wb")

        def put(lines):
            piece = b"".join(b"line %d %s\n" % (i, noise(20, i).hex().encode())
                             for i in range(lines))
            writer.write(piece)
            writer.flush()
            want.append(piece)

        put(first)
        with gzlzss.open(self.path) as f:
            for i in range(20):
                try:
                    while piece := (f.read1(3000) if how == "read1" else f.readline()):
                        got.append(piece)
                except EOFError:
                    cut += 1
                if i < 15:
                    put(later)
                elif i == 15:
                    writer.close()
        self.assertTrue(b"".join(got) == b"".join(want))
        self.assertEqual(cut, 16)

    def test_member_that_is_being_written(self):
        for how in "read1", "readline":
            for first in 1, 40_000:
                with self.subTest(how=how, first=first):
                    self.follow(how, first, 3)

    def test_seeks_see_what_is_there_now(self):
        for big in False, True:
            a = text(BIG) if big else b"first\n"
            for way in range(3):
                with self.subTest(big=big, way=way):
                    self.path.write_bytes(gzip.compress(a, 1))
                    f = list(self.opened())[way]()
                    self.assertTrue(f.read() == a)
                    self.append(gzip.compress(b"second\n"))
                    f.seek(0)
                    self.assertTrue(f.read() == a + b"second\n")
                    self.append(gzip.compress(b"third\n"))
                    if way < 2:
                        self.assertEqual(f.seek(0, io.SEEK_END), len(a) + 13)
                        self.assertEqual(f.size(), len(a) + 13)
                    f.rewind()
                    self.assertTrue(f.read() == a + b"second\nthird\n")
                    # The same file, with other contents.
                    self.path.write_bytes(gzip.compress(b"other contents"))
                    f.seek(0)
                    self.assertEqual(f.read(), b"other contents")
                    f.close()

    def test_other_contents_of_the_same_size(self):
        first, second = gzip.compress(b"abcdef"), gzip.compress(b"ghijkl")
        self.path.write_bytes(first)
        with gzlzss.open(self.path) as f:
            self.assertEqual(f.read(), b"abcdef")
            before = self.path.stat().st_mtime_ns
            while self.path.stat().st_mtime_ns == before:
                self.path.write_bytes(second)
            f.seek(1)
            self.assertEqual(f.read(), b"hijkl")

    def test_seeks_past_the_end_that_was(self):
        for size in 10, 100_000, BIG:
            for whence in io.SEEK_SET, io.SEEK_CUR:
                for way in range(3):
                    with self.subTest(size=size, whence=whence, way=way):
                        self.path.write_bytes(gzipped(size))
                        f = list(self.opened())[way]()
                        self.assertTrue(f.read() == text(size))
                        self.append(gzip.compress(b"0123456789"))
                        place = f.seek(3 if whence == io.SEEK_CUR else size + 3, whence)
                        self.assertEqual((place, f.read()), (size + 3, b"3456789"))
                        self.assertEqual(f.seek(-2, io.SEEK_CUR), size + 8)
                        self.assertEqual(f.read(), b"89")
                        self.assertEqual(f.seek(-size - 100, io.SEEK_CUR), 0)
                        f.close()

    def test_seeks_in_a_file_that_has_grown(self):
        """What was read before is the same, so that it is not decoded again."""
        self.path.write_bytes(gzipped(BIG))
        with gzlzss.open(self.path) as f:
            f.seek(BIG // 2)
            self.append(gzip.compress(b"more"))
            f.seek(1000)
            self.assertEqual(f.read(10), text(BIG)[1000:1010])
            f.seek(BIG - 5)
            self.assertEqual(f.read(), text(BIG)[-5:] + b"more")
            f.seek(-6, io.SEEK_END)
            self.assertEqual(f.read(), text(BIG)[-2:] + b"more")

    def test_bytesio(self):
        for a in b"first\n", text(BIG):
            data = io.BytesIO(gzip.compress(a, 1))
            f = gzlzss.open(data)
            self.assertTrue(f.read() == a)
            data.seek(0, io.SEEK_END)
            data.write(gzip.compress(b"second\n"))
            f.seek(0)
            self.assertTrue(f.read() == a + b"second\n")
            data.seek(0)
            data.truncate()
            data.write(gzip.compress(b"other"))
            f.seek(0)
            self.assertEqual(f.read(), b"other")

    def test_index_of_the_file_as_it_was(self):
        self.path.write_bytes(gzipped(BIG))
        index = io.BytesIO()
        with gzlzss.open(self.path) as f:
            f.export_index(index)
        with gzlzss.open(self.path) as f:
            f.import_index(io.BytesIO(index.getvalue()))
            f.seek(BIG - 3)
            self.assertEqual(f.read(), text(BIG)[-3:])
            self.append(gzip.compress(b"more"))
            f.seek(0)
            self.assertTrue(f.read() == text(BIG) + b"more")
            self.assertEqual(f.seek(0, io.SEEK_END), BIG + 4)

    def test_garbage_that_is_appended(self):
        for data in gzip.compress(b"first\n"), gzipped(BIG):
            self.path.write_bytes(data)
            with gzlzss.open(self.path) as f:
                f.read()
                self.append(b"garbage")
                for _ in range(2):
                    with self.assertRaises(gzip.BadGzipFile):
                        f.read()

    def test_damage_in_what_is_appended(self):
        for damage in range(12, 40):
            member = bytearray(gzipped(1000))
            member[-damage if damage < 30 else damage - 36] ^= 0x55
            self.path.write_bytes(gzipped(10))
            with gzlzss.open(self.path) as f:
                f.read()
                self.append(bytes(member))
                with self.subTest(damage=damage):
                    with self.assertRaises((gzlzss.DataError, gzip.BadGzipFile, EOFError)):
                        f.read()


class Zeros(Folder):
    """Zeros between members are passed over, as by gzip."""

    def test_everywhere(self):
        r = random.Random(3)
        for sizes in (400_000, 300_000), (10, 0, 10), (BIG, 5, BIG):
            for zeros in 1, 512, 300_000:
                for pack in gzip.compress, gzlzss.compress, gzlzss.Pool(bgzf=True).crew().compress:
                    data = [text(size, size + 1) for size in sizes]
                    packed = bytes(zeros).join(pack(piece) for piece in data) + bytes(zeros)
                    whole = b"".join(data)
                    with self.subTest(sizes=sizes, zeros=zeros):
                        self.check(packed, whole, r)

    def check(self, packed, whole, r):
        self.assertTrue(gzlzss.decompress(packed) == whole)
        self.path.write_bytes(packed)
        with gzlzss.open(self.path) as f:
            self.assertTrue(f.read() == whole)
            self.assertEqual(f.seek(0, io.SEEK_END), len(whole))
        with gzlzss.open(self.path) as f:
            self.assertTrue(b"".join(iter(lambda: f.read(10_000), b"")) == whole)
        with gzlzss.open(self.path) as f:
            self.assertEqual(f.seek(0, io.SEEK_END), len(whole))
            for _ in range(4):
                place = r.randrange(len(whole) + 1)
                f.seek(place)
                self.assertTrue(f.read() == whole[place:])
        index = io.BytesIO()
        with gzlzss.open(self.path) as f:
            f.export_index(index, "indexed_gzip")
        with gzlzss.open(self.path) as f:
            f.import_index(io.BytesIO(index.getvalue()))
            f.seek(len(whole) // 2)
            self.assertTrue(f.read() == whole[len(whole) // 2:])

    def test_zeros_before_all_or_before_garbage(self):
        for data in bytes(10) + gzipped(10), gzipped(10) + bytes(10) + b"x", gzipped(10) + b"\0\x1f":
            for call in (lambda: gzlzss.decompress(data),
                         lambda: gzlzss.open(io.BytesIO(data)).read()):
                with self.assertRaises(gzip.BadGzipFile):
                    call()


class NonBlocking(unittest.TestCase):
    PACKED = gzip.compress(text(1_000_000), 1)

    def source(self, buffering):
        """A file that does not block, and a thread that slowly fills it."""
        r, w = os.pipe()
        os.set_blocking(r, False)
        go_on = threading.Event()

        def fill():
            with open(w, "wb", 0) as pipe:
                for i in range(0, len(self.PACKED), 5003):
                    go_on.wait(10)
                    go_on.clear()
                    piece = self.PACKED[i:i + 5003]
                    while piece:
                        piece = piece[pipe.write(piece):]

        thread = threading.Thread(target=fill)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(go_on.set)
        return open(r, "rb", buffering), go_on

    def test_reading(self):
        """Data that has not come yet is not the end, and nothing is lost."""
        ways = {"read": lambda f: f.read(5000), "read1": lambda f: f.read1(5000),
                "readline": lambda f: f.readline(), "peek": lambda f: f.peek(1) and f.read(10_000),
                "all": lambda f: f.read()}
        for name, way in ways.items():
            for buffering in 0, -1:
                with self.subTest(name=name, buffering=buffering):
                    source, go_on = self.source(buffering)
                    with source, gzlzss.open(source) as f:
                        self.read(f, way, go_on)

    def read(self, f, way, go_on):
        got, waited = [], 0
        while True:
            try:
                piece = way(f)
                if not piece:
                    break
                got.append(piece)
            except BlockingIOError:
                waited += 1
                go_on.set()
                time.sleep(0.0005)
        self.assertTrue(b"".join(got) == text(1_000_000))
        self.assertGreater(waited, 10)

    def test_readinto(self):
        source, go_on = self.source(0)

        def way(f):
            out = bytearray(5000)
            return bytes(out[:f.readinto(out)])

        with source, gzlzss.open(source) as f:
            self.read(f, way, go_on)

    def test_socket(self):
        a, b = socket.socketpair()
        with a, b:
            a.setblocking(False)
            with a.makefile("rb") as source, gzlzss.open(source) as f:
                for call in f.read, f.readline, f.read1, lambda: f.peek(1), lambda: next(f):
                    with self.assertRaises(BlockingIOError):
                        call()
                b.sendall(gzip.compress(b"line\n"))
                b.shutdown(socket.SHUT_WR)
                self.assertEqual((f.readline(), f.readline()), (b"line\n", b""))

    def test_header_in_pieces(self):
        r, w = os.pipe()
        os.set_blocking(r, False)
        packed = gzip.compress(b"data", mtime=9)
        with open(r, "rb", 0) as source, gzlzss.open(source) as f:
            for i in range(11):
                os.write(w, packed[i:i + 1])
                with self.assertRaises(BlockingIOError):
                    f.read()
            os.write(w, packed[11:])
            os.close(w)
            self.assertEqual((f.read(), f.mtime), (b"data", 9))

    def test_source_of_views(self):
        """read() may return any buffer."""
        class Views:
            def __init__(self, kind):
                self.kind, self.data = kind, io.BytesIO(gzipped(BIG))

            def read(self, n):
                return self.kind(self.data.read(n))

        for kind in memoryview, bytearray:
            with gzlzss.open(Views(kind)) as f:
                self.assertTrue(f.read() == text(BIG))
        for wrong in (lambda data: len(data)), (lambda data: "text"):
            with gzlzss.open(Views(wrong)) as f, self.assertRaises(TypeError):
                f.read()

    def sink(self, buffering):
        """A file that does not block, and a function that reads what has come."""
        r, w = os.pipe()
        fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(w, False)
        os.set_blocking(r, False)
        self.addCleanup(os.close, r)

        def take():
            try:
                return os.read(r, 1 << 20)
            except BlockingIOError:
                return b""

        return open(w, "wb", buffering), take

    def test_writing(self):
        """BlockingIOError says how much was taken; nothing is lost if the rest is written again."""
        for buffering in 0, -1:
            with self.subTest(buffering=buffering):
                target, take = self.sink(buffering)
                got, blocked = b"", 0
                data = memoryview(noise(2_000_000))
                f = gzlzss.open(target, "wb", block_size=32768)
                while data:
                    try:
                        data = data[f.write(data[:50_000]):]
                    except BlockingIOError as e:
                        data = data[e.characters_written:]
                        blocked += 1
                        got += take()
                while True:
                    try:
                        f.flush()
                        break
                    except BlockingIOError:
                        got += take()
                got += take()
                f.close()
                if buffering:
                    target.flush()
                got += take()
                target.close()
                self.assertTrue(gzip.decompress(got) == noise(2_000_000))
                self.assertGreater(blocked, 10)

    def test_close_says_that_data_is_lost(self):
        target, take = self.sink(0)
        with self.assertRaises(BlockingIOError):
            with gzlzss.open(target, "wb") as f:
                f.write(noise(100_000))
        target.close()
        with self.assertRaises(EOFError):
            gzip.decompress(take())


if __name__ == "__main__":
    unittest.main()
