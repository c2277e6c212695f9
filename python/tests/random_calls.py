#!/usr/bin/env python3
"""random_calls.py - makes random calls, right and wrong ones, and looks for crashes

    python tests/random_calls.py [COUNT [SEED]]

Calls the functions and methods of the extension module and of the package with arguments of every
kind, from several threads. No call may crash, and an exception must be one of those that Python's
own modules raise for such arguments. Data that was compressed must come back. README.md tells
how to run it under ASan.
"""
import gc
import gzip
import io
import os
import random
import sys
import tempfile
import threading
import zlib

import gzlzss
from gzlzss import _core

ALLOWED = (TypeError, ValueError, OverflowError, BufferError, OSError, EOFError, zlib.error,
           MemoryError, RuntimeError, AttributeError,
           IndexError)  # two threads change the list of objects
PLAIN = [b"", b"a", bytes(1000), bytes(range(256)) * 30, random.Random(1).randbytes(5000),
         b"some words and more words\n" * 9000]
PACKED = [gzip.compress(data) for data in PLAIN] + [zlib.compress(data) for data in PLAIN]


class Calls:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.objects = []
        self.crews = [gzlzss.Pool(2).crew(format, level) for format, level in
                      ((0, 1), (0, 6), (1, 6), (2, 9), (3, 6), (4, 6))]
        self.errors = {}

    def data(self):
        r = self.r
        kind = r.randrange(12) % 8
        if kind == 0:
            return r.choice(PLAIN)
        if kind in (1, 2):
            return r.choice(PACKED)
        if kind == 3:
            return r.choice(PACKED)[:r.randrange(40)]
        if kind == 4:
            broken = bytearray(r.choice(PACKED))
            for _ in range(r.randrange(1, 4)):
                broken[r.randrange(len(broken))] = r.randrange(256)
            return broken
        if kind == 5:
            return memoryview(r.choice(PLAIN))[::r.choice([1, 1, 1, 2, -1])]
        if kind == 6:
            return bytearray(r.choice([0, 1, 10, 1000, 100_000]))
        return self.anything()

    def number(self):
        r = self.r
        return r.choice([0, 1, 2, 3, 6, 9, 12, 15, 31, -15, -1, 13, 100, 1000, 1 << 20, 1 << 31,
                         1 << 32, 1 << 63, 1 << 64, -(1 << 63), r.randrange(-300, 300)])

    def anything(self):
        return self.r.choice([None, True, 0, -1, 1.5, "text", b"bytes", (), [1], {}, object(), gzlzss,
                              self.r.choice(self.crews), self.number(), float("nan")])

    def argument(self):
        return self.r.choice([self.data, self.data, self.number, self.anything])()

    def any_object(self):
        """One of the objects that are alive, or a new one."""
        r = self.r
        if self.objects and r.random() < 0.7:
            return r.choice(self.objects)
        crew = r.choice(self.crews)
        made = r.choice([
            lambda: _core.Compressor(crew), lambda: _core.Decompressor(crew),
            lambda: _core.Compressor(crew, r.choice([None, b"name", b"a\0b", 5]), self.number()),
            lambda: _core.Reader(crew, self.data()),
            lambda: gzlzss.zlib.compressobj(self.number(), 8, r.choice([15, 31, -15])),
            lambda: gzlzss.decompressobj(self.number()),
            lambda: gzlzss.GzipFile(fileobj=io.BytesIO(self.data()), mode="rb"),
            lambda: gzlzss.open(io.BytesIO(), r.choice(["wb", "wt"]), r.randrange(10)),
            lambda: gzlzss.open(tempfile.TemporaryFile(), "wb"),
            lambda: crew])()
        self.objects.append(made)
        if len(self.objects) > 12:
            self.objects.pop(r.randrange(len(self.objects)))
        return made

    def call_method(self):
        target = self.any_object()
        names = [name for name in dir(target) if not name.startswith("_") and
                 callable(getattr(target, name, None)) and name not in ("fileno", "detach")]
        name = self.r.choice(names)
        if name in ("seek", "truncate"):  # writes zeros up to there
            args = [self.r.randrange(-10, 1 << 20)]
        elif isinstance(target, _core.Reader) and name == "readinto":
            args = [bytearray(self.r.randrange(5000)), self.r.choice([0, 1, 5000, self.number()])]
        elif isinstance(target, _core.Decompressor) and name == "readinto":
            args = [bytearray(self.r.randrange(5000)), self.number()]
        else:
            args = self.likely(name) if self.r.random() < 0.8 else \
                [self.argument() for _ in range(self.r.choice([0, 0, 1, 1, 1, 2, 3]))]
        getattr(target, name)(*args)

    def likely(self, name):
        """Arguments with which a method or a function of this name mostly works."""
        r = self.r
        takes_data = {"compress", "decompress", "write", "feed", "crc32", "use_index"}
        if name in takes_data or name == "compress_range":
            return [self.data()] + ([r.choice([0, 1])] if name == "compress_range" else [])
        if name in ("compress_into", "decompress_into"):
            return [self.data(), bytearray(r.choice([0, 100, 10_000, 300_000]))]
        if name == "decompress_some":
            return [self.data(), r.choice([0, 1000, 1 << 20])]
        if name in ("readinto", "readinto1"):
            return [bytearray(r.randrange(5000))]
        if name in ("read", "read1", "peek", "readline", "flush", "export"):
            return [r.randrange(-1, 5000)] if r.random() < 0.3 else [r.randrange(6)]
        if name in ("import_index", "export_index"):
            return [io.BytesIO(self.data())]
        if name in ("compressobj", "decompressobj"):
            return [r.choice([15, 31, -15, 9])]
        if name in ("end", "crc32_combine", "check_combine"):
            return [r.randrange(1 << 32) for _ in range(2 + (name != "end"))]
        if name == "writelines":
            return [[self.data(), self.data()]]
        return []

    def call_function(self):
        function = self.r.choice([
            gzlzss.compress, gzlzss.decompress, gzlzss.compress_into, gzlzss.decompress_into,
            gzlzss.crc32, gzlzss.crc32_combine, gzlzss.compressobj, gzlzss.decompressobj,
            gzlzss.zlib.compress, gzlzss.zlib.decompress, gzlzss.zlib.compressobj, _core.check,
            gzlzss.decompress_array])
        if self.r.random() < 0.7:
            function(*self.likely(function.__name__))
        else:
            function(*[self.argument() for _ in range(self.r.choice([1, 1, 2, 3]))])

    def make_crew(self):
        _core.Crew(*[self.anything() for _ in range(self.r.randrange(5))])
        _core.Crew(self.r.randrange(-1, 7), self.r.randrange(-2, 15), self.r.randrange(0, 4),
                   self.r.randrange(-1, 4), self.r.choice([0, 32768, 1 << 20, self.number()]))

    def round_trip(self):
        data = self.r.choice(PLAIN)
        if gzlzss.decompress(gzlzss.compress(data, self.r.randrange(10))) != data:
            raise AssertionError("other data came back")
        f = gzlzss.open(io.BytesIO(self.r.choice(PACKED[:len(PLAIN)])))
        f.seek(self.r.randrange(300_000))
        f.read(self.r.randrange(1000))

    def once(self):
        kinds = [self.call_method] * 60 + [self.call_function] * 40 + [self.round_trip] * 4
        kinds += [self.make_crew]
        try:
            self.r.choice(kinds)()
        except ALLOWED as e:
            name = type(e).__name__
            self.errors[name] = self.errors.get(name, 0) + 1


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    failed = []
    folder = tempfile.TemporaryDirectory()  # some calls write files with names such as "text"
    os.chdir(folder.name)

    def work(calls, n):
        try:
            for _ in range(n):
                calls.once()
        except BaseException as e:
            failed.append(e)
            raise

    sys.unraisablehook = lambda _: None  # files that cannot be completed when they go
    all_calls = [Calls(seed + i) for i in range(4)]
    # Threads also use one another's objects.
    for calls in all_calls[1:]:
        calls.objects = all_calls[0].objects
    threads = [threading.Thread(target=work, args=(calls, count // 4)) for calls in all_calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = {}
    for calls in all_calls:
        for name, n in calls.errors.items():
            errors[name] = errors.get(name, 0) + n
        calls.objects.clear()
    gc.collect()
    print(f"{count // 4 * 4} calls, seed {seed}: {len(failed)} threads failed;",
          ", ".join(f"{n} {name}" for name, n in sorted(errors.items())))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
