"""Threads, processes and signals."""
import errno
import gc
import gzip
import io
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import gzlzss
from data import gzipped, noise, text

BIG = 6_000_000


def in_child(work):
    """Runs work() in a child process by fork; returns whether it returned True."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(60)
            status = 0 if work() is True else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def use(_):
    data = text(300_000)
    return gzlzss.decompress(gzlzss.compress(data)) == data


class Dataset:
    """As one for PyTorch's DataLoader: it opens its file once, and workers read records."""

    def __init__(self, path):
        self.path = path
        self.file = gzlzss.open(path)

    def __getitem__(self, i):
        self.file.seek(1000 * i)
        return self.file.read(1000)

    def __getstate__(self):
        return self.path

    def __setstate__(self, path):
        self.__init__(path)


class Records(Dataset):
    def __len__(self):
        return 100


dataset = None


def take_dataset(given):
    global dataset
    dataset = given


def record(i):
    return dataset[i]


class Fork(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "file.gz"

    def test_threads_are_made_anew(self):
        use(0)
        gzlzss.compress(text(BIG))
        pool = gzlzss.Pool(2)
        packed = pool.crew().compress(text(BIG))
        self.assertTrue(in_child(lambda: use(0)))
        self.assertTrue(in_child(lambda: gzlzss.compress(text(BIG)) == packed))
        self.assertTrue(in_child(lambda: gzlzss.compress(text(BIG), pool=pool) == packed))
        self.assertTrue(in_child(lambda: in_child(lambda: use(0))))
        self.assertTrue(use(0))

    def test_while_a_thread_compresses(self):
        over = threading.Event()

        def work():
            while not over.is_set():
                gzlzss.compress(text(BIG), 1)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(10):
                self.assertTrue(in_child(lambda: use(0)))
        finally:
            over.set()
            thread.join()

    def test_child_goes_on_reading(self):
        for data in gzipped(1000), gzipped(BIG):
            self.path.write_bytes(data)
            size = len(gzip.decompress(data))
            with gzlzss.open(self.path) as f:
                first = f.read(500)
                self.assertTrue(in_child(lambda: first + f.read() == text(size)))
                self.assertEqual(first + f.read(), text(size))
            with gzlzss.open(self.path) as f:
                self.assertTrue(in_child(lambda: f.read() == text(size)))

    def opened(self):
        """The file in all ways that a child could disturb."""
        yield gzlzss.open(self.path)
        for buffering in 0, -1:
            yield gzlzss.open(self.keep(open(self.path, "rb", buffering)))
        outer = self.keep(open(self.path.with_name("outer"), "w+b"))
        outer.write(b"before" + self.path.read_bytes())
        outer.seek(6)
        yield gzlzss.open(outer)
        temporary = self.keep(tempfile.NamedTemporaryFile())
        temporary.write(self.path.read_bytes())
        temporary.seek(0)
        yield gzlzss.open(temporary)
        yield gzlzss.open(io.BytesIO(self.path.read_bytes()))

    def keep(self, file):
        self.addCleanup(file.close)
        return file

    def test_nothing_moves(self):
        """What a child does with a file leaves the parent's as it is, and the other way round."""
        def child(f, data, begun, calls):
            r = f.read(calls[0])
            self.assertTrue(r == data[begun:begun + calls[0]])
            for n in calls[1:]:
                f.seek(0)
                r = f.read() if n < 0 else f.read(n)
                self.assertTrue(r == (data if n < 0 else data[:n]))
            f.close()
            return True

        for size in 230_000, 3_000_000:
            data = noise(size)
            self.path.write_bytes(gzip.compress(data, 1))
            for begun in 0, 10:
                for calls in (200_000,), (200_000, 10), (200_000, -1, 5):
                    for kind, f in enumerate(self.opened()):
                        with self.subTest(size=size, begun=begun, calls=calls, kind=kind), f:
                            self.assertEqual(f.read(begun), data[:begun])
                            self.assertTrue(in_child(lambda: child(f, data, begun, calls)))
                            self.assertTrue(f.read() == data[begun:])
                            self.assertTrue(in_child(lambda: child(f, data, size, calls)
                                                     if len(calls) > 1 else True))
                            f.seek(0)
                            self.assertTrue(f.read(1000) == data[:1000])

    def test_workers_with_epochs(self):
        data = noise(2_000_000)
        self.path.write_bytes(gzip.compress(data, 1))

        def work():
            for epoch in range(3):
                f.seek(0)
                got = b""
                while piece := f.read(100_000):
                    got += piece
                if got != data:
                    return 2
            return 0

        for f in self.opened():
            with f:
                children = []
                for _ in range(4):
                    pid = os.fork()
                    if pid == 0:
                        status = 1
                        try:
                            signal.alarm(60)
                            status = work()
                        finally:
                            os._exit(status)
                    children.append(pid)
                self.assertEqual([os.waitpid(pid, 0)[1] for pid in children], [0] * 4)
                self.assertTrue(f.read() == data)

    def test_child_whose_first_read_fails(self):
        self.path.write_bytes(gzipped(1000))
        with gzlzss.open(self.path) as f:
            def fail():
                f._raw._pool = FailsOnce(f._raw._pool)
                try:
                    f.read()
                except ZeroDivisionError:
                    return f.read() == text(1000)

            self.assertTrue(in_child(fail))
            self.assertEqual(f.fileobj.tell(), 0)
            self.assertEqual(f.read(), text(1000))

    def test_child_with_a_file_that_cannot_be_shared(self):
        """The child gets an error, and the parent's file stays."""
        class Wrapped:
            def __init__(self, file):
                for name in "read", "seek", "tell", "fileno", "seekable":
                    setattr(self, name, getattr(file, name))

        def refuse():
            for _ in range(2):
                try:
                    f.read()
                    return False
                except RuntimeError:
                    pass
            return True

        self.path.write_bytes(gzipped(BIG))
        for begun in 0, 10:
            with open(self.path, "rb") as file, gzlzss.open(Wrapped(file)) as f:
                f.read(begun)
                self.assertTrue(in_child(refuse))
                self.assertTrue(f.read() == text(BIG)[begun:])
        r, w = os.pipe()
        with open(r, "rb") as file, gzlzss.open(file) as f:
            os.write(w, gzipped(1000))
            os.close(w)
            f.read(10)
            self.assertTrue(in_child(refuse))
            self.assertEqual(f.read(), text(1000)[10:])

    def test_child_reads_a_pipe_that_is_not_begun(self):
        r, w = os.pipe()
        with open(r, "rb") as file, gzlzss.open(file) as f:
            os.write(w, gzipped(1000))
            os.close(w)
            self.assertTrue(in_child(lambda: f.read() == text(1000)))

    def written(self, pieces=6):
        """Files that are written slowly, so that output comes in small pieces."""
        for kind in "path", "raw", "buffered", "text":
            if kind == "text":
                f = gzlzss.open(self.path, "wt")
            elif kind == "path":
                f = gzlzss.open(self.path, "wb")
            else:
                file = self.keep(open(self.path, "wb", 0 if kind == "raw" else -1))
                f = gzlzss.open(file, "wb")
            for _ in range(pieces):
                f.write(bytes(1_500_000) if kind != "text" else "\0" * 1_500_000)
                if kind == "raw":
                    f.flush()
            yield kind, f

    def test_child_writes_nothing(self):
        """However a child ends, the parent's file is complete, once."""
        def drop():
            nonlocal f
            f = None
            gc.collect()
            return True

        def close():
            f.close()
            if hasattr(f, "fileobj") and f.fileobj is None:
                self.assertTrue(f.closed)
            return True

        for end in close, drop:
            for kind, f in self.written():
                with self.subTest(kind=kind, end=end.__name__):
                    file = getattr(f, "fileobj", None)
                    kept = f
                    self.assertTrue(in_child(lambda: end()))
                    f = kept
                    f.write("end" if kind == "text" else b"end")
                    f.close()
                    if kind in ("raw", "buffered"):
                        file.close()
                    self.assertEqual(gzip.open(self.path).read(), bytes(9_000_000) + b"end")

    def test_child_that_exits(self):
        """sys.exit runs all that frees the child's objects."""
        script = EXITS.format(path=str(self.path))
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              timeout=120)
        self.assertEqual((done.stdout, done.stderr), ("ok\n", ""))

    def test_childs_writes_are_errors(self):
        """Also small ones, which would wait in the buffer and be lost."""
        def write():
            for call in (lambda: f.write(b"x"), lambda: f.writelines([b"x"]), f.flush,
                         lambda: f.seek(1 << 20)):
                try:
                    call()
                    return False
                except RuntimeError:
                    pass
            f.close()
            return f.closed

        with gzlzss.open(self.path, "wb") as f:
            f.write(b"start")
            self.assertTrue(in_child(write))
            f.write(b"end")
        self.assertEqual(gzip.open(self.path).read(), b"startend")

    def test_child_while_a_thread_writes(self):
        """The thread may have the buffer's lock, for which the child must not wait."""
        over = threading.Event()
        f = gzlzss.open(self.path, "wb")

        def work():
            while not over.is_set():
                f.write(noise(300_000))

        def close():
            f.close()
            return True

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(10):
                self.assertTrue(in_child(close))
        finally:
            over.set()
            thread.join()
        f.close()
        self.assertEqual(len(gzip.open(self.path).read()) % 300_000, 0)

    def test_child_leaves_the_parents_output(self):
        def write():
            try:
                for _ in range(20):
                    f.write(noise(100_000))
                f.flush()
            except RuntimeError:
                f.close()
                return f.closed

        with gzlzss.open(self.path, "wb") as f:
            f.write(text(BIG))
            self.assertTrue(in_child(write))
            f.write(b"end")
        self.assertEqual(gzip.open(self.path).read(), text(BIG) + b"end")

    def test_child_closes_quietly(self):
        def close():
            f.close()
            return f.closed

        with gzlzss.open(self.path, "wb") as f:
            f.write(b"in the buffer")
            self.assertTrue(in_child(close))
        self.assertEqual(gzip.open(self.path).read(), b"in the buffer")

    def test_child_cannot_go_on_with_a_stream(self):
        obj = gzlzss.compressobj()
        obj.compress(text(BIG))

        def go_on():
            try:
                obj.compress(b"x")
            except RuntimeError:
                return True

        self.assertTrue(in_child(go_on))
        obj.flush()

    def test_lock_that_a_thread_of_the_parent_has(self):
        """The child must not wait for a thread that it does not have."""
        pool = gzlzss.Pool(1)
        obj = gzlzss._core.Compressor(pool.crew(level=12))

        def work():
            with self.assertRaises(gzlzss.CancelledError):
                obj.compress(40 * text(BIG))

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.5)

        def use_it():
            signal.alarm(10)
            try:
                obj.compress(b"x")
            except RuntimeError:
                return True

        self.assertTrue(in_child(use_it))
        self.assertTrue(thread.is_alive())
        pool.cancel()
        thread.join()

    def test_multiprocessing(self):
        self.path.write_bytes(gzipped(BIG))
        data = text(BIG)
        for method in "fork", "spawn", "forkserver":
            context = multiprocessing.get_context(method)
            with self.subTest(method=method), Dataset(self.path).file as file:
                given = Dataset.__new__(Dataset)
                given.path, given.file = self.path, file
                file.read(10)
                with context.Pool(2, take_dataset, (given,)) as pool:
                    self.assertTrue(all(pool.map(use, range(4))))
                    places = list(range(0, 6000, 700))
                    self.assertEqual(pool.map(record, places),
                                     [data[1000 * i:1000 * i + 1000] for i in places])

    def test_loader(self):
        """As README says: workers that are started in any way read the file, epoch after epoch."""
        data = text(3_000_000)
        self.path.write_bytes(gzipped(3_000_000))
        places = list(range(0, 3000, 37))
        expected = [data[1000 * i:1000 * i + 1000] for i in places]
        for method in "fork", "spawn", "forkserver":
            context = multiprocessing.get_context(method)
            given = Dataset(self.path)
            for epoch in range(3):
                with self.subTest(method=method, epoch=epoch):
                    # The parent reads, too, before and while the workers do.
                    given.file.seek(0)
                    self.assertEqual(given.file.read(10), data[:10])
                    with context.Pool(2, take_dataset, (given,)) as pool:
                        waiting = pool.map_async(record, places)
                        self.assertTrue(given.file.read() == data[10:])
                        self.assertEqual(waiting.get(100), expected)
            given.file.close()

    def test_torch(self):
        try:
            from torch.utils.data import DataLoader
        except ImportError:
            self.skipTest("PyTorch is not installed")
        self.path.write_bytes(gzipped(3_000_000))
        for method in "fork", "spawn", "forkserver":
            loader = DataLoader(Records(self.path), batch_size=None, num_workers=2,
                                multiprocessing_context=method, persistent_workers=True)
            for epoch in range(3):
                with self.subTest(method=method, epoch=epoch):
                    self.assertEqual([bytes(item) for item in loader],
                                     [text(3_000_000)[1000 * i:1000 * i + 1000]
                                      for i in range(100)])

    def test_pickle(self):
        pool = pickle.loads(pickle.dumps(gzlzss.Pool(3, block_size=32768)))
        self.assertEqual(gzlzss.compress(text(BIG), pool=pool),
                         gzlzss.compress(text(BIG), block_size=32768))
        for thing in gzlzss.compressobj(), gzlzss.open(io.BytesIO(), "wb"):
            with self.assertRaises(TypeError):
                pickle.dumps(thing)


class Threads(unittest.TestCase):
    def test_side_by_side(self):
        packed = {n: gzlzss.compress(text(n)) for n in (1000, 200_000, BIG)}
        wrong = []

        def work(n):
            for _ in range(3):
                out = io.BytesIO()
                with gzlzss.open(out, "wb", mtime=0) as f:
                    f.write(text(n))
                if out.getvalue() != packed[n] or gzlzss.decompress(packed[n]) != text(n):
                    wrong.append(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in 3 * list(packed)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_one_object_in_many_threads(self):
        """The order is undefined, but all calls are done, and nothing is lost."""
        obj = gzlzss.compressobj()
        parts = []
        lock = threading.Lock()

        def work():
            for _ in range(50):
                with lock:
                    parts.append(obj.compress(noise(10_000)))

        def race():
            for _ in range(50):
                other.compress(noise(10_000))

        other = gzlzss.compressobj()
        threads = [threading.Thread(target=f) for f in (work, race) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        other.flush()
        self.assertEqual(gzip.decompress(b"".join(parts) + obj.flush()), noise(10_000) * 150)

    def test_calls_while_another_thread_writes(self):
        """They wait. The call that is under way is not taken for one that was interrupted."""
        class Slow(io.BytesIO):
            def write(self, data):
                if threading.current_thread() is writer:
                    has_begun.set()
                    other.join(0.2)  # it ends at once if it does not wait
                return super().write(data)

        def wait_and_call():
            has_begun.wait()
            try:
                call()
            except Exception as e:
                errors.append(e)

        data = noise(1_000_000)
        for name in "flush", "close", "with":
            has_begun = threading.Event()
            errors, writer = [], None
            target = Slow()
            f = gzlzss.open(target, "wb")
            call = {"flush": f.flush, "close": f.close,
                    "with": lambda: f.__exit__(KeyError, KeyError(), None)}[name]
            writer = threading.Thread(target=lambda: (f.write(data), f.flush()))
            other = threading.Thread(target=wait_and_call)
            other.start()
            writer.start()
            writer.join()
            other.join()
            f.close()
            with self.subTest(name=name):
                self.assertEqual(errors, [])
                self.assertTrue(gzip.decompress(target.getvalue()).startswith(data))

    def test_handler_that_flushes(self):
        """A signal handler gets an error for the file that it interrupts, and harms nothing."""
        class Interrupting(io.BytesIO):
            def write(self, data):
                if wants_signal:
                    wants_signal.clear()
                    signal.raise_signal(signal.SIGALRM)
                return super().write(data)

        def handler(*_):
            try:
                f.flush()
            except RuntimeError as e:
                errors.append(str(e))

        errors, wants_signal = [], []
        before = signal.signal(signal.SIGALRM, handler)
        try:
            target = Interrupting()
            with gzlzss.open(target, "wb") as f:
                wants_signal.append(True)
                f.write(noise(1_000_000))
                f.flush()
                f.write(b"after")
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(errors, ["reentrant call"])
        self.assertTrue(gzip.decompress(target.getvalue()) == noise(1_000_000) + b"after")

    def test_lock_is_released(self):
        """Another thread counts while a call compresses."""
        count = 0
        over = threading.Event()

        def work():
            nonlocal count
            while not over.is_set():
                count += 1
                time.sleep(0.0005)

        thread = threading.Thread(target=work)
        thread.start()
        before = count
        gzlzss.compress(text(BIG), 9, threads=1)
        after = count
        over.set()
        thread.join()
        self.assertGreater(after - before, 20)

    def test_cancel(self):
        pool = gzlzss.Pool(1)
        data = noise(100_000) * 1000
        timer = threading.Timer(0.1, lambda: [pool.cancel() or time.sleep(0.01)
                                              for _ in range(20)])
        timer.start()
        with self.assertRaises(gzlzss.CancelledError):
            gzlzss.compress(data, 12, pool=pool)
        timer.join()
        self.assertEqual(gzip.decompress(gzlzss.compress(b"x", pool=pool)), b"x")

    def test_pool_with(self):
        with gzlzss.Pool(2) as pool:
            out = io.BytesIO()
            with gzlzss.open(out, "wb", pool=pool) as f:
                f.write(b"one")
                pool.close()
                f.write(b"two")
        self.assertEqual(gzip.decompress(out.getvalue()), b"onetwo")
        self.assertEqual(gzlzss.compress(b"x", pool=gzlzss.Pool(-1)), gzlzss.compress(b"x"))
        with self.assertRaises(ValueError):
            gzlzss.Pool(backend="tpu")


EXITS = """
import gzip, gzlzss, os, sys
for how in "wb", "wt":
    f = gzlzss.open({path!r}, how)
    for _ in range(5):
        f.write("x" * 1000000 if how == "wt" else b"x" * 1000000)
    if os.fork() == 0:
        sys.exit(0)
    assert os.wait()[1] == 0
    f.write("end" if how == "wt" else b"end")
    f.close()
    assert gzip.open({path!r}).read() == b"x" * 5000000 + b"end"
print("ok")
"""


INTERRUPTED = """
import io, os, signal, sys, threading, time
sys.path.insert(0, {tests!r})
import gzlzss
from data import text
data = text(3_000_000) * 60  # one thread takes half a minute for it at level 12
packed = gzlzss.compress(bytes(2_000_000_000 if {name!r} == "decompress" else 10), 1)
def compress():
    gzlzss.compress(data, 12, threads=1)
def compress_stream():
    obj = gzlzss._core.Compressor(gzlzss.Pool(1).crew(level=12))
    obj.compress(data)
    obj.flush(1)
def compress_file():
    with gzlzss.open(io.BytesIO(), "wb", 12, threads=1) as f:
        f.write(data)
def decompress():
    while True:
        gzlzss.decompress(packed)
def kill():
    time.sleep(0.3)
    killed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
# A shell may have started the tests in the background, where SIGINT is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
killed = []
threading.Thread(target=kill).start()
try:
    {name}()
    print("not interrupted")
except KeyboardInterrupt:
    late = time.monotonic() - killed[0]
    print("ok" if late < 10 else f"{{late}} s late")
"""


REENTRANT = """
import gzip, signal, sys
sys.path.insert(0, {tests!r})
import gzlzss
from data import text
def flush(*_):
    try:
        obj.flush()
    except RuntimeError as e:
        seen.append(str(e))
        if not {is_caught}:
            raise
seen = []
data = text(4_000_000) * 10
obj = gzlzss.compressobj(9)
signal.signal(signal.SIGALRM, flush)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    packed = obj.compress(data) + obj.flush()
    assert {is_caught} and gzip.decompress(packed) == data
except RuntimeError as e:
    assert not {is_caught} and str(e) == "reentrant call"
assert seen == ["reentrant call"], seen
print("ok")
"""


class Interrupted:
    """A stream in which a signal handler raises an exception."""
    needs_input = False

    def __init__(self, error):
        self.error = error

    def readinto(self, out, directive):
        raise self.error


class Pipe:
    """Gives its data once. Its next read raises `error`, if that is set."""
    error = None

    def __init__(self, data):
        self.data = io.BytesIO(data)

    def read(self, n):
        error, self.error = self.error, None
        if error is not None:
            raise error
        return self.data.read(n)


class FailsOnce:
    """A pool and its crew, whose first call fails."""
    def __init__(self, pool):
        self.pool, self.has_failed = pool, False

    def crew(self):
        return self if not self.has_failed else self.pool.crew()

    def fail(self, *_):
        self.has_failed = True
        raise ZeroDivisionError

    decompress = decompress_some = fail


class Interrupt(unittest.TestCase):
    def interrupt(self, name):
        script = INTERRUPTED.format(tests=str(pathlib.Path(__file__).parent), name=name)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              timeout=120)
        self.assertEqual((done.stdout, done.stderr), ("ok\n", ""))

    def test_compress(self):
        self.interrupt("compress")

    def test_compress_stream(self):
        self.interrupt("compress_stream")

    def test_compress_file(self):
        self.interrupt("compress_file")

    def test_decompress(self):
        self.interrupt("decompress")

    def test_handler_without_exception(self):
        """The call goes on, and the handler runs while it does."""
        seen = []
        before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            data = text(BIG)
            packed = gzlzss.compress(data, 12, threads=1)
            end = time.monotonic()
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(gzip.decompress(packed), data)
        self.assertEqual(len(seen), 1)
        self.assertLess(seen[0], end)

    def test_handler_that_calls_the_same_stream(self):
        """The handler gets an error, since the call that it interrupts has the stream's lock."""
        for is_caught in True, False:
            with self.subTest(is_caught=is_caught):
                script = REENTRANT.format(tests=str(pathlib.Path(__file__).parent),
                                          is_caught=is_caught)
                done = subprocess.run([sys.executable, "-c", script], capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual((done.stdout, done.stderr), ("ok\n", ""))

    def test_read_goes_on(self):
        """A file can be read on after an interruption."""
        class Stop(BaseException):
            pass

        def interrupt(*_):
            raise Stop

        with tempfile.NamedTemporaryFile() as file:
            file.write(gzipped(BIG))
            file.flush()
            with gzlzss.open(file.name) as f:
                before = signal.signal(signal.SIGALRM, interrupt)
                got = f.read(1000)
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.001)
                    try:
                        while True:
                            got += f.read(100_000)
                    except Stop:
                        pass
                finally:
                    signal.signal(signal.SIGALRM, before)
                f.seek(len(got))
                self.assertEqual(got + f.read(), text(BIG))

    def test_interrupted_stream_is_not_needed_again(self):
        for error in KeyboardInterrupt, TimeoutError, ZeroDivisionError:
            with self.subTest(error=error), gzlzss.open(io.BytesIO(gzipped(BIG))) as f:
                f.read(500_000)
                f._raw._stream = Interrupted(error)
                with self.assertRaises(error):
                    f.read()
                place = f.tell()
                self.assertEqual(f.read(1000), text(BIG)[place:place + 1000])

    def test_interrupted_pipe_fails_from_then_on(self):
        """Input may be lost, so that what follows would be wrong data."""
        for error in KeyboardInterrupt, TimeoutError, ZeroDivisionError:
            with self.subTest(error=error), gzlzss.open(Pipe(gzipped(BIG))) as f:
                f.read(500_000)
                f._raw._stream = Interrupted(error)
                for expected in error, gzlzss.CancelledError, gzlzss.CancelledError:
                    with self.assertRaises(expected):
                        f.read()

    def test_pipe_without_data_goes_on(self):
        pipe = Pipe(gzipped(BIG))
        with gzlzss.open(pipe) as f:
            got = f.read(10)
            waited = 0
            while len(got) < BIG:
                pipe.error = BlockingIOError
                try:
                    got += f.read(100_000)
                except BlockingIOError:
                    waited += 1
                    pipe.error = None
                    got += f.read(100_000)
            self.assertEqual(f.read(), b"")
            self.assertTrue(got == text(BIG))
            self.assertGreater(waited, 0)

    def test_read_that_failed_begins_again(self):
        for size, n in (1000, -1), (1000, 100), (BIG, -1):
            with self.subTest(size=size, n=n), tempfile.NamedTemporaryFile() as file:
                file.write(gzipped(size))
                file.flush()
                with gzlzss.open(file.name) as f:
                    f._raw._pool = FailsOnce(f._raw._pool)
                    with self.assertRaises(ZeroDivisionError):
                        f.read(n)
                    self.assertEqual(f.tell(), 0)
                    self.assertTrue(f.read(n) == text(size)[:n if n > 0 else size])

    def test_start_that_was_read_is_read_again(self):
        class Seekable(io.BytesIO):
            """Its first read fails, but has moved the place in the file."""
            reads = 0

            def read(self, n=-1):
                data = super().read(n)
                self.reads += 1
                if self.reads == 1:
                    raise KeyboardInterrupt
                return data

        for size in 1000, BIG:
            with gzlzss.open(Seekable(gzipped(size))) as f:
                with self.assertRaises(KeyboardInterrupt):
                    f.read()
                self.assertTrue(f.read() == text(size))

    def test_error_while_reading_ahead(self):
        """What reading less may avoid is tried so; a handler's exceptions go to the caller."""
        class Reader:
            def __init__(self, real, error):
                self.real, self.error = real, error

            def readinto(self, out, offset):
                if len(out) > 1_000_000:
                    raise self.error
                return self.real.readinto(out, offset)

        for error, is_tried in ((gzlzss.DataError(), True), (EOFError(), True),
                                (MemoryError(), True), (OSError(errno.EIO, ""), True),
                                (TimeoutError(), False), (ZeroDivisionError(), False),
                                (gzlzss.CancelledError(), False), (KeyboardInterrupt(), False)):
            with self.subTest(error=error), gzlzss.open(io.BytesIO(gzipped(BIG))) as f:
                f.seek(1_500_000)
                place = f.tell()
                f._raw._reader = Reader(f._raw._reader, error)
                got = bytearray()
                try:
                    while part := f.read(50_000):
                        got += part
                except BaseException as e:
                    self.assertFalse(is_tried)
                    self.assertIs(e, error)
                else:
                    self.assertTrue(is_tried)
                    self.assertTrue(got == text(BIG)[place:])


class Command(unittest.TestCase):
    def test_is_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "file"
            path.write_bytes(text(1000))
            run = [sys.executable, "-m", "gzlzss"]
            subprocess.run(run + ["-k", str(path)], check=True)
            self.assertEqual(gzip.open(f"{path}.gz").read(), text(1000))
            out = subprocess.run(run + ["-dc", f"{path}.gz"], check=True, capture_output=True)
            self.assertEqual(out.stdout, text(1000))
            failed = subprocess.run(run + ["-d", str(path)], capture_output=True, text=True)
            self.assertEqual(failed.returncode, 2)
            self.assertTrue(failed.stderr.startswith("gzlzss:"), failed.stderr)

    def test_signals_end_it_quietly(self):
        with subprocess.Popen([sys.executable, "-m", "gzlzss", "-0", "-c", "/dev/zero"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
            command.stdout.close()
            self.assertEqual(command.stderr.read(), b"")
        self.assertEqual(command.returncode, -signal.SIGPIPE)


if __name__ == "__main__":
    unittest.main()
