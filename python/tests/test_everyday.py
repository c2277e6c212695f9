"""What programs do every day with files of gzip's: lines, classes derived from GzipFile, modules of
the standard library."""
import copy
import csv
import functools
import gc
import gzip
import io
import itertools
import json
import os
import pathlib
import pickle
import shutil
import struct
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

import gzlzss
from data import gzipped, noise, text


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "file.gz"


class Unreferenced(Folder):
    """Nothing but what is used of a file refers to it."""

    def test_lines(self):
        for n in 1, 10, 100_000:
            self.path.write_bytes(gzip.compress(b"".join(b"line %d\n" % i for i in range(n)), 1))

            def open_it():
                return gzlzss.open(self.path)

            def loop():
                count = 0
                for line in open_it():
                    count += 1
                return count

            def local():
                file = open_it()
                return (line for line in file)

            ways = {
                "for": loop,
                "generator": lambda: sum(1 for line in open_it()),
                "local": lambda: sum(1 for line in local()),
                "list": lambda: len(list(open_it())),
                "enumerate": lambda: len(list(enumerate(open_it()))),
                "map": lambda: sum(map(bool, open_it())),
                "zip": lambda: sum(1 for _ in zip(open_it(), open_it())),
                "chain": lambda: sum(1 for _ in itertools.chain.from_iterable(
                    gzlzss.open(path) for path in (self.path, self.path))) // 2,
                "readline": lambda: sum(1 for _ in iter(open_it().readline, b"")),
                "fileobj": lambda: sum(1 for _ in gzlzss.GzipFile(
                    fileobj=io.BytesIO(self.path.read_bytes()))),
                "text": lambda: sum(1 for _ in gzlzss.open(self.path, "rt")),
                "csv": lambda: sum(1 for _ in csv.reader(gzlzss.open(self.path, "rt"))),
            }
            for name, way in ways.items():
                with self.subTest(name=name, n=n):
                    self.assertEqual(way(), n)
            self.assertEqual(next(iter(open_it())), b"line 0\n")

    def test_bound_methods(self):
        self.path.write_bytes(gzipped(300_000))
        for name in "read", "read1", "readline", "peek", "__next__":
            method = getattr(gzlzss.open(self.path), name)
            gc.collect()
            self.assertTrue(text(300_000).startswith(method()[:1]), name)
        out = bytearray(10)
        gzlzss.open(self.path).readinto(out)
        self.assertEqual(out, text(10))

    def test_written_without_a_name(self):
        gzlzss.open(self.path, "wb").write(b"one call")
        self.assertEqual(gzip.open(self.path).read(), b"one call")
        write = gzlzss.open(self.path, "wb").write
        gc.collect()
        write(b"first ")
        write(b"second")
        del write
        self.assertEqual(gzip.open(self.path).read(), b"first second")
        writelines = gzlzss.open(self.path, "wb").writelines
        writelines([b"a", b"b"])
        del writelines
        self.assertEqual(gzip.open(self.path).read(), b"ab")
        print("text", file=gzlzss.open(self.path, "wt"))
        self.assertEqual(gzip.open(self.path).read(), b"text\n")

    def test_freed_without_code_of_others(self):
        """In such code, KeyboardInterrupt would be ignored."""
        f = gzlzss.open(self.path, "wb")
        f.close()
        modules = []
        sys.setprofile(lambda frame, event, _: modules.append(frame.f_globals["__name__"]))
        try:
            del f
        finally:
            sys.setprofile(None)
        self.assertNotIn("weakref", modules)

    def test_after_the_end(self):
        with gzlzss.open(self.path, "wb") as f:
            write = f.write
            write(b"x")
        with self.assertRaises(ValueError):
            write(b"y")
        with gzlzss.open(self.path) as f:
            methods = f.read, f.readline, f.__next__, f.peek, f.read1, f.readlines
        for method in methods:
            with self.assertRaises(ValueError):
                method()

    def test_iterator_is_the_file(self):
        self.path.write_bytes(gzipped(1000))
        with gzlzss.open(self.path) as f:
            self.assertIs(iter(f), f)
            lines = text(1000).splitlines(True)
            self.assertEqual((next(f), f.readline(), next(f)), tuple(lines[:3]))
            self.assertEqual(f.tell(), sum(map(len, lines[:3])))

    def test_methods_are_the_class_s(self):
        with gzlzss.open(self.path, "wb") as f:
            self.assertEqual(set(f.__dict__) & set(dir(io.BufferedReader)), {"name", "mode"})
        self.assertTrue(issubclass(gzlzss.GzipFile, io.BufferedIOBase))
        for name in "read", "readline", "write":
            with self.assertRaises(TypeError):
                getattr(gzlzss.GzipFile, name)(object())

    def test_arguments_by_name(self):
        with gzlzss.open(self.path, "wb") as f:
            self.assertEqual(f.write(data=b"one\ntwo\n"), 8)
            with self.assertRaises(TypeError):
                f.write()
            with self.assertRaises(TypeError):
                f.write(b"a", b"b")
        with gzlzss.open(self.path) as f:
            self.assertEqual((f.read(size=2), f.readline(size=1), f.readline(None)),
                             (b"on", b"e", b"\n"))
            self.assertEqual((f.readline(2), f.read(None)), (b"tw", b"o\n"))
            with self.assertRaises(TypeError):
                f.read(1, 2)
            with self.assertRaises(TypeError):
                f.readline(length=1)


class Counts(gzlzss.GzipFile):
    """Counts what goes through its methods."""
    written = lines = got = 0

    def write(self, data):
        self.written += len(data)
        return super().write(data)

    def readline(self, *args):
        line = super().readline(*args)
        self.lines += bool(line)
        return line

    def read(self, *args):
        data = super().read(*args)
        self.got += len(data)
        return data


class Deterministic(gzlzss.GzipFile):
    """As nibabel's: it opens its file itself."""

    def __init__(self, filename, mode):
        self.myfileobj = open(filename, mode)
        super().__init__("", mode, 9, self.myfileobj, 0)


class WithOwnFile(gzlzss.GzipFile):
    closed_files = []

    class File(io.BytesIO):
        def close(self):
            WithOwnFile.closed_files.append(self.getvalue())
            super().close()

    myfileobj = File()


class Reopened(gzlzss.GzipFile):
    """A file whose copy is opened again by its name."""

    def __getstate__(self):
        return self.name, self.tell()

    def __setstate__(self, state):
        self.__init__(state[0])
        self.seek(state[1])


class Subclasses(Folder):
    def test_writing(self):
        out = io.BytesIO()
        with Counts(fileobj=out, mode="wb") as f:
            f.write(b"abc")
            f.writelines([b"x", b"y"])
            self.assertEqual(f.written, 5)
            f.seek(10)
            self.assertEqual(f.written, 10)
        self.assertEqual(gzip.decompress(out.getvalue()), b"abcxy" + bytes(5))

    def test_reading(self):
        packed = gzip.compress(b"a\nb\nc\n")
        for way in (list, lambda f: f.readlines(), lambda f: [line for line in f],
                    lambda f: list(iter(f.readline, b""))):
            f = Counts(fileobj=io.BytesIO(packed))
            self.assertEqual(way(f), [b"a\n", b"b\n", b"c\n"])
            self.assertEqual(f.lines, 3)
        f = Counts(fileobj=io.BytesIO(packed))
        self.assertEqual(f.read(), b"a\nb\nc\n")
        self.assertEqual(f.got, 6)

    def test_next(self):
        class Upper(gzlzss.GzipFile):
            def __next__(self):
                return super().__next__().upper()

        f = Upper(fileobj=io.BytesIO(gzip.compress(b"a\nb\n")))
        self.assertEqual(list(f), [b"A\n", b"B\n"])

    def test_method_of_an_object(self):
        f = gzlzss.open(io.BytesIO(gzip.compress(b"a\nb\n")))
        f.readline = functools.partial(next, iter([b"x", b""]))
        self.assertEqual(list(f), [b"x"])

    def test_patched_class(self):
        patch = functools.partial(unittest.mock.patch.object, gzlzss.GzipFile)
        with patch("write", autospec=True, side_effect=OSError("full")):
            with gzlzss.GzipFile(fileobj=io.BytesIO(), mode="wb") as f:
                with self.assertRaisesRegex(OSError, "full"):
                    f.write(b"x")
                with self.assertRaisesRegex(OSError, "full"):
                    f.writelines([b"x"])
        with patch("readline", return_value=b"patched"):
            f = gzlzss.GzipFile(fileobj=io.BytesIO(gzip.compress(b"a\n")))
            self.assertEqual((f.readline(), next(f)), (b"patched", b"patched"))
        with patch("read", return_value=b"patched"):
            self.assertEqual(f.read(), b"patched")

    def test_file_set_before(self):
        f = Deterministic(self.path, "wb")
        own = f.myfileobj
        f.write(b"data")
        f.close()
        self.assertTrue(own.closed)
        self.assertEqual(gzip.open(self.path).read(), b"data")
        self.assertEqual(self.path.read_bytes()[:10], b"\x1f\x8b\x08\0\0\0\0\0\x02\x03")
        with Deterministic(self.path, "rb") as f:
            self.assertEqual(f.read(), b"data")

    def test_file_of_the_class(self):
        out = WithOwnFile.myfileobj
        with WithOwnFile("name", "wb", fileobj=out) as f:
            f.write(b"data")
        self.assertTrue(out.closed)
        self.assertEqual([gzip.decompress(data) for data in WithOwnFile.closed_files], [b"data"])

    def test_without_init(self):
        class Late(gzlzss.GzipFile):
            def __init__(self):
                self.is_late = True

        f = Late()
        self.assertTrue(f.closed)
        f.close()

    def test_copies(self):
        """A copy would end the file when it is freed."""
        with gzlzss.open(self.path, "wb") as f:
            f.write(b"before ")
            for call in copy.copy, copy.deepcopy, pickle.dumps:
                with self.assertRaisesRegex(TypeError, "cannot pickle 'GzipFile' object"):
                    call(f)
            gc.collect()
            f.write(b"after")
        self.assertEqual(gzip.open(self.path).read(), b"before after")

    def test_subclass_that_can_be_pickled(self):
        with Reopened(self.path, "wb") as f:
            f.write(b"0123456789")
        with Reopened(self.path) as f:
            f.read(5)
            with pickle.loads(pickle.dumps(f)) as g:
                self.assertEqual(g.read(), b"56789")
            self.assertEqual(f.read(), b"56789")

    def test_unfit_for_a_set(self):
        class Equal(gzlzss.GzipFile):
            def __eq__(self, other):
                return True

        with Equal(fileobj=io.BytesIO(), mode="wb") as f:
            f.write(b"x")


class Library(Folder):
    """The standard library."""

    def test_json_lines(self):
        things = [{"i": i, "text": "x" * i} for i in range(300)]
        with gzlzss.open(self.path, "wt", encoding="utf-8") as f:
            for thing in things:
                json.dump(thing, f)
                f.write("\n")
        self.assertEqual([json.loads(line) for line in gzlzss.open(self.path)], things)
        with gzlzss.open(self.path, "rt", encoding="utf-8") as f:
            self.assertEqual([json.loads(line) for line in f], things)
        with gzlzss.open(self.path, "wb") as f:
            f.write(json.dumps(things).encode())
        self.assertEqual(json.load(gzlzss.open(self.path)), things)

    def test_csv(self):
        rows = [[str(i), "a,b", 'q"q', "line\nfeed"] for i in range(500)]
        with gzlzss.open(self.path, "wt", newline="") as f:
            csv.writer(f).writerows(rows)
        with gzlzss.open(self.path, "rt", newline="") as f:
            self.assertEqual(list(csv.reader(f)), rows)

    def test_pickle(self):
        things = [list(range(1000)), {"noise": noise(300_000)}, "text"]
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with gzlzss.open(self.path, "wb") as f:
                for thing in things:
                    pickle.dump(thing, f, protocol)
            with gzlzss.open(self.path) as f:
                self.assertEqual([pickle.load(f) for _ in things], things)
                with self.assertRaises(EOFError):
                    pickle.load(f)

    def test_copyfileobj(self):
        self.path.write_bytes(gzipped(3_000_000))
        other = self.path.with_name("other.gz")
        with gzlzss.open(self.path) as source, gzlzss.open(other, "wb") as target:
            shutil.copyfileobj(source, target)
        self.assertEqual(gzip.open(other).read(), text(3_000_000))

    def test_buffers_around_it(self):
        self.path.write_bytes(gzipped(300_000))
        with io.BufferedReader(gzlzss.open(self.path)) as f:
            self.assertEqual(f.read(), text(300_000))
        with io.TextIOWrapper(io.BufferedReader(gzlzss.GzipFile(self.path))) as f:
            self.assertEqual(f.read(), text(300_000).decode())
        with io.TextIOWrapper(gzlzss.GzipFile(self.path, "wb")) as f:
            f.write("text")
        self.assertEqual(gzip.open(self.path).read(), b"text")

    def test_records(self):
        with gzlzss.open(self.path, "wb") as f:
            for i in range(1000):
                f.write(struct.pack("<I", i))
        with gzlzss.open(self.path) as f:
            read = f.read
            self.assertEqual([struct.unpack("<I", read(4))[0] for _ in range(1000)],
                             list(range(1000)))
            self.assertEqual(read(4), b"")

    def test_tar(self):
        with tarfile.open(fileobj=gzlzss.open(self.path, "wb"), mode="w") as tar:
            info = tarfile.TarInfo("one")
            info.size = 300_000
            tar.addfile(info, io.BytesIO(noise(300_000)))
            file = tar.fileobj
        file.close()
        for mode in "r", "r|":
            with tarfile.open(fileobj=gzlzss.open(self.path), mode=mode) as tar:
                self.assertEqual(tar.extractfile(tar.next()).read(), noise(300_000))

    def test_temporary_files(self):
        with tempfile.NamedTemporaryFile() as temporary:
            with gzlzss.open(temporary, "wb") as f:
                f.write(text(3_000_000))
            temporary.seek(0)
            with gzlzss.open(temporary) as f:
                f.seek(2_000_000)
                self.assertEqual(f.read(), text(3_000_000)[2_000_000:])
                f.seek(0)
                self.assertEqual(f.read(10), text(10))


class Checks(Folder):
    """Arguments are checked before a file is emptied."""

    def test_arguments_come_first(self):
        for kwargs in ({"compresslevel": 13}, {"compresslevel": -2}, {"compresslevel": "6"},
                       {"mtime": -1}, {"mtime": 1 << 32}, {"mtime": "now"}, {"mtime": float("nan")},
                       {"threads": 2, "pool": gzlzss.Pool()}, {"block_size": -1},
                       {"block_size": 7}, {"pool": gzlzss.Pool(matcher="no such")},
                       {"mode": "wz"}, {"mode": "wbt"}, {"mode": "wb", "encoding": "ascii"},
                       {"mode": "wt", "encoding": "no such"}, {"mode": "wt", "newline": "x"},
                       {"mode": "wt", "encoding": 7}):
            self.path.write_bytes(b"precious")
            kwargs = {"mode": "wb", **kwargs}
            with self.subTest(kwargs=kwargs):
                with self.assertRaises((ValueError, TypeError, struct.error, LookupError)):
                    gzlzss.open(self.path, **kwargs)
                self.assertEqual(self.path.read_bytes(), b"precious")

    def test_times(self):
        """Times out of range give gzip's error, never another time."""
        for mtime in -1, 1 << 32, -1e300, 1e300, float("inf"), float("nan"), "x", []:
            errors = []
            for module in gzip, gzlzss:
                for call in (lambda: module.GzipFile("", "wb", 6, io.BytesIO(), mtime).close(),
                             lambda: module.compress(b"x", 6, mtime=mtime)):
                    with self.subTest(mtime=mtime), self.assertRaises(Exception) as caught:
                        call()
                    errors.append(type(caught.exception))
            self.assertEqual(set(errors), {errors[0]}, mtime)
        for mtime, stored in (0, 0), (1.9, 1), ((1 << 32) - 1, (1 << 32) - 1), (-0.5, 0):
            out = io.BytesIO()
            gzlzss.GzipFile("", "wb", 6, out, mtime).close()
            self.assertEqual(out.getvalue()[4:8], struct.pack("<L", stored))
        with unittest.mock.patch("time.time", return_value=float(1 << 33)):
            self.assertEqual(gzlzss.compress(b"x", mtime=None)[4:8], bytes(4))

    def test_header_comes_first(self):
        """The header is written at once, so a file that is given up is no empty one."""
        for pool in gzlzss.Pool(), gzlzss.Pool(bgzf=True), gzlzss.Pool(rsyncable=True):
            ours = io.BytesIO()
            f = gzlzss.GzipFile("name.gz", "wb", fileobj=ours, mtime=7, pool=pool)
            header = ours.getvalue()
            f.write(b"data")
            f.close()
            self.assertEqual(gzip.decompress(ours.getvalue()), b"data")
            self.assertEqual(ours.getvalue()[:len(header)], header)
        self.assertEqual(header, b"\x1f\x8b\x08\x08\x07\0\0\0\0\x03name\0")
        f = gzlzss.open(self.path, "wb")
        self.assertEqual(self.path.stat().st_size, 15)
        for module in gzip, gzlzss:
            with self.assertRaises(EOFError):
                module.open(self.path).read()
        f.close()
        self.assertEqual(gzlzss.open(self.path).read(), b"")
        with open(self.path, "wb") as raw, gzlzss.open(raw, "wb") as f:
            self.assertEqual(self.path.stat().st_size, 15)

    def test_header_that_fails(self):
        class Full(io.BytesIO):
            def write(self, data):
                raise OSError(28, "No space left on device")

        with self.assertRaisesRegex(OSError, "No space"):
            gzlzss.open(Full(), "wb")
        if os.path.exists("/dev/full"):
            with self.assertRaisesRegex(OSError, "No space"):
                gzlzss.open("/dev/full", "wb")


class Failures(Folder):
    """After a write that has failed."""

    class Below(io.BytesIO):
        """Its writes fail while `error` is set."""
        error = None

        def write(self, data):
            if self.error is not None:
                raise self.error
            return super().write(data)

    def broken(self, error, text=False):
        below = self.Below()
        f = gzlzss.open(below, "wt" if text else "wb", newline="" if text else None)
        f.write("start" if text else b"start")
        below.error = error
        with self.assertRaises(type(error)):
            f.write(noise(2_000_000).hex() if text else noise(5_000_000))
            f.flush()
        below.error = None
        return f

    def test_all_calls_say_so(self):
        for error in (KeyboardInterrupt(), OSError(28, "No space left on device"), TimeoutError(),
                      ZeroDivisionError()):
            for is_text in False, True:
                with self.subTest(error=error, is_text=is_text):
                    f = self.broken(error, is_text)
                    calls = [f.flush, f.close]
                    if not is_text:
                        calls = [lambda: f.write(b"x"), lambda: f.writelines([b"x"])] + calls
                    for call in calls:
                        with self.assertRaisesRegex(OSError, "incomplete"):
                            call()
                    self.assertTrue(f.closed)

    def test_with(self):
        """An exception on its way is not hidden by the error of close()."""
        for error in KeyboardInterrupt(), OSError(28, "No space left on device"):
            for is_text in False, True:
                with self.subTest(error=error, is_text=is_text):
                    with self.assertRaises(type(error)) as caught:
                        with self.broken(error, is_text) as f:
                            raise error
                    self.assertIs(caught.exception, error)
                    self.assertTrue(f.closed)
                    # Without one, the program must hear of it.
                    with self.assertRaisesRegex(OSError, "incomplete"):
                        with self.broken(error, is_text):
                            pass

    def test_other_exceptions_complete_the_file(self):
        out = io.BytesIO()
        with self.assertRaises(ZeroDivisionError), gzlzss.open(out, "wb") as f:
            f.write(b"data")
            raise ZeroDivisionError
        self.assertEqual(gzip.decompress(out.getvalue()), b"data")

    def test_errors_of_arguments_break_nothing(self):
        out = io.BytesIO()
        with gzlzss.open(out, "wb") as f:
            f.write(b"one ")
            with self.assertRaises(TypeError):
                f.write("text")
            f.write(b"two")
        self.assertEqual(gzip.decompress(out.getvalue()), b"one two")

    def test_files_that_lie(self):
        """A file's write() that says what cannot be is an error, not an endless loop."""
        for result in 0, -1, -(1 << 40):
            class Lies:
                def write(self, data):
                    return result

            with self.subTest(result=result), self.assertRaisesRegex(OSError, "invalid length"):
                gzlzss.open(Lies(), "wb")
        got = []
        # These are not Python's files; gzip ignores what their write() returns.
        for result in None, "all", unittest.mock.MagicMock():
            class Says:
                def write(self, data):
                    got.append(bytes(data))
                    return result

            got.clear()
            with gzlzss.open(Says(), "wb") as f:
                f.write(noise(300_000))
            self.assertEqual(gzip.decompress(b"".join(got)), noise(300_000))


if __name__ == "__main__":
    unittest.main()
