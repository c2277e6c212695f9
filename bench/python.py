#!/usr/bin/env python3
"""python.py - times the Python package beside gzip and the packages that people use for it

    bench/python.py [--size=MB] [--repeat=N] [--level=N] [FILE]

Measures whatever of these is installed: gzip, isal.igzip, isal.igzip_threaded,
zlib_ng.gzip_ng_threaded, rapidgzip, mgzip, gzlzss. The data is the start of FILE, or lines of words
that are made for it. Everything is in memory or in /dev/shm. The packages take turns, and the
least time of N turns counts. On a shared machine, processor time (user and system, all threads) says
more than elapsed time, so the tables have both: elapsed / processor time.
"""
import argparse
import gzip
import importlib
import io
import os
import random
import resource
import tempfile
import time

SEEKS = 30


def find(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


gzlzss = find("gzlzss")
igzip = find("isal.igzip")
threaded = find("isal.igzip_threaded")
gzip_ng = find("zlib_ng.gzip_ng_threaded")
rapidgzip = find("rapidgzip")
mgzip = find("mgzip")
cores = len(os.sched_getaffinity(0))


def processor_time():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(ways, repeat):
    """Returns for each way the least elapsed and the least processor time of its turns."""
    best = {name: (float("inf"), float("inf")) for name in ways}
    for _ in range(repeat):
        for name, way in ways.items():
            wall, used = time.perf_counter(), processor_time()
            way()
            wall, used = time.perf_counter() - wall, processor_time() - used
            best[name] = min(best[name][0], wall), min(best[name][1], used)
    return best


def cell(times, digits=2):
    return f"{times[0]:.{digits}f} / {times[1]:.{digits}f}"


class Ways:
    """How each package does each work.  igzip has the levels 0 to 3 only."""

    def __init__(self, path, level):
        self.path = path
        self.level = level
        self.isal_level = min(level, 2)

    def writers(self):
        level = self.level
        found = {"gzip": lambda: gzip.open(self.out, "wb", level)}
        if igzip:
            found["isal.igzip"] = lambda: igzip.open(self.out, "wb", self.isal_level)
        if threaded:
            found["isal.igzip_threaded"] = lambda: threaded.open(
                self.out, "wb", self.isal_level, threads=cores)
        if gzip_ng:
            found["zlib_ng.gzip_ng_threaded"] = lambda: gzip_ng.open(
                self.out, "wb", level, threads=cores)
        if mgzip:
            found["mgzip"] = lambda: mgzip.open(self.out, "wb", compresslevel=level, thread=cores)
        if gzlzss:
            found[f"gzlzss, level {level}"] = lambda: gzlzss.open(self.out, "wb", level)
            found["gzlzss, level 1"] = lambda: gzlzss.open(self.out, "wb", 1)
        return found

    def readers(self):
        found = {"gzip": lambda: gzip.open(self.path)}
        if igzip:
            found["isal.igzip"] = lambda: igzip.open(self.path)
        if threaded:
            found["isal.igzip_threaded"] = lambda: threaded.open(self.path, threads=1)
        if gzip_ng:
            found["zlib_ng.gzip_ng_threaded"] = lambda: gzip_ng.open(self.path, threads=1)
        if rapidgzip:
            # Without a buffer, each line would take it as long as a large read.
            found["rapidgzip"] = lambda: io.BufferedReader(
                rapidgzip.open(self.path, parallelization=cores), 128 << 10)
        if mgzip:
            found["mgzip"] = lambda: mgzip.open(self.path, "rb", thread=cores)
        if gzlzss:
            found["gzlzss"] = lambda: gzlzss.open(self.path)
        return found

    @property
    def out(self):
        return self.path + ".out"


def write(open_file, data, piece):
    view = memoryview(data)
    with open_file() as f:
        for i in range(0, len(view), piece):
            f.write(view[i:i + piece])


def write_lines(open_file, lines):
    with open_file() as f:
        for line in lines:
            f.write(line)


def read(open_file, piece):
    with open_file() as f:
        while f.read(piece):
            pass


def read_lines(open_file):
    with open_file() as f:
        for _ in f:
            pass


def read_text(open_file):
    with open_file() as f, io.TextIOWrapper(f, "latin-1") as text:
        for _ in text:
            pass


def seek(open_file, size):
    r = random.Random(3)
    places = [r.randrange(size) for _ in range(SEEKS)]
    with open_file() as f:
        for place in places:
            f.seek(place)
            f.read(1000)


def table(title, columns, rows):
    """Prints a table of Markdown; rows has a dictionary of cells for each name."""
    names = list(dict.fromkeys(name for cells in rows for name in cells))
    print(f"\n{title}\n\n| |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 1) + "|")
    for name in names:
        print("|", name, "|", " | ".join(cells.get(name, "-") for cells in rows), "|")


def files(data, ways, repeat):
    lines = data.splitlines(True)
    writers, readers = ways.writers(), ways.readers()
    columns, rows = ["1 MiB a call", "lines", "output, MB"], [{}, {}, {}]
    for name, times in measure({n: lambda w=w: write(w, data, 1 << 20)
                                for n, w in writers.items()}, repeat).items():
        rows[0][name] = cell(times)
    for name, times in measure({n: lambda w=w: write_lines(w, lines)
                                for n, w in writers.items()}, repeat).items():
        rows[1][name] = cell(times)
    for name, open_file in writers.items():
        write(open_file, data, 1 << 20)
        rows[2][name] = f"{os.path.getsize(ways.out) / 1e6:.1f}"
    table(f"Writing {len(data) / 1e6:.0f} MB, s", columns, rows)
    columns, rows = [], []
    for title, way, ahead in (
            ("read()", lambda w: read(w, -1), 1), ("1 MiB a call", lambda w: read(w, 1 << 20), 1),
            ("lines", read_lines, 1), ("lines of text", read_text, 1),
            (f"{SEEKS} seeks", lambda w: seek(w, len(data)), 0)):
        chosen = {name: lambda w=w, way=way: way(w) for name, w in readers.items()
                  if ahead or name in ("gzip", "isal.igzip", "rapidgzip", "gzlzss")}
        columns.append(title)
        rows.append({name: cell(times) for name, times in
                     measure(chosen, repeat if ahead else 1).items()})
    table(f"Reading what gzip made of it ({os.path.getsize(ways.path) / 1e6:.1f} MB), s", columns,
          rows)


def objects(data, level, repeat):
    """One call for an object in memory; the number of calls is such that they take a while."""
    sizes = [n for n in (1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
             if n <= len(data)]
    packers = {"gzip": lambda d: gzip.compress(d, level)}
    unpackers = {"gzip": gzip.decompress}
    if igzip:
        packers["isal.igzip"] = lambda d: igzip.compress(d, min(level, 2))
        unpackers["isal.igzip"] = igzip.decompress
    if gzlzss:
        packers[f"gzlzss, level {level}"] = lambda d: gzlzss.compress(d, level)
        packers["gzlzss, level 1"] = lambda d: gzlzss.compress(d, 1)
        unpackers["gzlzss"] = gzlzss.decompress

    def many(way, thing, count):
        for _ in range(count):
            way(thing)

    for title, ways, prepare in (("compress", packers, bytes),
                                 ("decompress what gzip made", unpackers,
                                  lambda d: gzip.compress(d, 6))):
        rows = []
        for size in sizes:
            thing = prepare(data[:size])
            count = max(1, min(2000, 20_000_000 // size))
            best = measure({n: lambda w=w: many(w, thing, count) for n, w in ways.items()}, repeat)
            rows.append({n: cell([t / count * 1e6 for t in times], 1) for n, times in best.items()})
        table(f"{title}, us for an object", [f"{n:,} bytes" for n in sizes], rows)


def made(size):
    r = random.Random(1)
    words = ["".join(r.choices("etaoinshrdlucmfwyp", k=r.randint(2, 9))) for _ in range(20_000)]
    part = []
    length = 0
    while length < min(size, 20_000_000):
        line = " ".join(r.choices(words, weights=None, k=r.randint(3, 15))) + "\n"
        part.append(line)
        length += len(line)
    return ("".join(part) * (size // length + 1)).encode()[:size]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1000, help="MB of data")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--level", type=int, default=6)
    parser.add_argument("file", nargs="?")
    args = parser.parse_args()
    size = args.size * 1_000_000
    if args.file:
        with open(args.file, "rb") as f:
            data = f.read(size)
    else:
        data = made(size)
    print(f"Level {args.level} (isal: {min(args.level, 2)}), {cores} cores, least of "
          f"{args.repeat}: elapsed / processor time")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = os.path.join(folder, "data.gz")
        with gzip.open(path, "wb", 6) as f:
            f.write(data)
        files(data, Ways(path, args.level), args.repeat)
    objects(data, args.level, args.repeat)


if __name__ == "__main__":
    main()
