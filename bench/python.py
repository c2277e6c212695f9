#!/usr/bin/env python3
"""python.py - times the Python package beside gzip and the packages that people use for it

    bench/python.py [--size=MB] [--slow=MB] [--repeat=N] [--level=N] [--busy] [--out=DIR] [FILE]

Measures those of these packages that are installed: gzip, isal.igzip, isal.igzip_threaded,
zlib_ng.gzip_ng_threaded, rapidgzip, mgzip, nvidia.nvcomp (with a GPU), gzlzss. The data is the
start of FILE, or lines of words that are made for it. Everything is in memory or in /dev/shm. The
packages take turns, and the least time of N turns counts. On a shared machine, processor time (user
and system, all threads) says more than elapsed time. Each cell has elapsed / processor time. In
brackets: elapsed time (with --busy: processor time) divided by gzlzss's. Below 1, the package is
faster than gzlzss.

gzip takes most of the time, since it has one thread. --slow=MB gives it only the first MB of the
data, and scales its times up; such times have a ~. mgzip only writes: it reads no other program's
.gz with more than one thread, and often fails.

With --out, the figures go to DIR/python.csv, which bench/plot.sh DIR draws, and the tables to
DIR/python.md, too.
"""
import argparse
import concurrent.futures
import csv
import gzip
import importlib
import io
import os
import platform
import random
import resource
import struct
import tempfile
import time
import zlib

SEEKS = 10
LINES = 250_000_000  # bytes of the data that are written and read by lines
PIECES = (16 << 10, 64 << 10, 1 << 20)


def find(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


gzlzss = find("gzlzss")
igzip = find("isal.igzip")
isal_zlib = find("isal.isal_zlib")
threaded = find("isal.igzip_threaded")
gzip_ng = find("zlib_ng.gzip_ng_threaded")
zlib_ng = find("zlib_ng.zlib_ng")
rapidgzip = find("rapidgzip")
mgzip = find("mgzip")
nvcomp = find("nvidia.nvcomp")
cores = len(os.sched_getaffinity(0))

figures = []  # rows of python.csv
text = []  # lines of python.md
judged = 0  # which time the ratios are of: 0 is elapsed, 1 is processor time


def say(line=""):
    print(line, flush=True)
    text.append(line)


def processor_time():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(ways, repeat):
    """Returns for each way the least elapsed and the least processor time of its turns.  Leaves out
    a package that raises an exception."""
    best = {name: (float("inf"), float("inf")) for name in ways}
    for _ in range(repeat):
        for name in list(best):
            wall, used = time.perf_counter(), processor_time()
            try:
                ways[name]()
            except Exception as e:
                if name.startswith("gzlzss"):
                    raise
                del best[name]
                say(f"\n{name} left out of the next table: {type(e).__name__}: {e}")
                continue
            wall, used = time.perf_counter() - wall, processor_time() - used
            best[name] = min(best[name][0], wall), min(best[name][1], used)
    return best


def record(work, size, times, unit=1.0, digits=2, scaled=()):
    """Writes down the times of a work, in seconds, and returns the cells of a table."""
    ours = times["gzlzss"][judged] if "gzlzss" in times else None
    cells = {}
    for name, (wall, used) in times.items():
        figures.append((work, name, size, f"{wall:.9f}", f"{used:.9f}"))
        cell = f"{wall / unit:.{digits}f} / {used / unit:.{digits}f}"
        if ours:
            cell += f" ({times[name][judged] / ours:.2f})"
        cells[name] = ("~" if name in scaled else "") + cell
    return cells


def table(title, columns, rows):
    """Prints a table of Markdown; rows has a dictionary of cells for each column."""
    names = list(dict.fromkeys(name for cells in rows for name in cells))
    say(f"\n{title}\n")
    say("| | " + " | ".join(columns) + " |")
    say("|---" * (len(columns) + 1) + "|")
    for name in names:
        say(f"| {name} | " + " | ".join(cells.get(name, "-") for cells in rows) + " |")


# --- Files -------------------------------------------------------------------------------------


class Ways:
    """How each package opens a file.  isal has the levels 0 to 3 only; its default is 2."""

    def __init__(self, out, level):
        self.out = out
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
            found["gzlzss"] = lambda: gzlzss.open(self.out, "wb", level)
            found["gzlzss, level 1"] = lambda: gzlzss.open(self.out, "wb", 1)
        return found

    @staticmethod
    def readers():
        found = {"gzip": gzip.open}
        if igzip:
            found["isal.igzip"] = igzip.open
        if threaded:
            found["isal.igzip_threaded"] = lambda path: threaded.open(path, threads=1)
        if gzip_ng:
            found["zlib_ng.gzip_ng_threaded"] = lambda path: gzip_ng.open(path, threads=1)
        if rapidgzip:
            # Without a buffer, each line would take it as long as a large read.
            found["rapidgzip"] = lambda path: io.BufferedReader(
                rapidgzip.open(path, parallelization=cores), 128 << 10)
        if gzlzss:
            found["gzlzss"] = gzlzss.open
        return found


SEEKERS = ("gzip", "isal.igzip", "rapidgzip", "gzlzss")


def write(open_file, data):
    with open_file() as f:
        for i in range(0, len(data), 1 << 20):
            f.write(data[i:i + (1 << 20)])


def write_lines(open_file, lines):
    with open_file() as f:
        for line in lines:
            f.write(line)


def read(open_file, path, piece):
    with open_file(path) as f:
        while f.read(piece):
            pass


def read_lines(open_file, path):
    left = LINES
    with open_file(path) as f:
        for line in f:
            left -= len(line)
            if left <= 0:
                break


def read_text(open_file, path):
    left = LINES
    with open_file(path) as f, io.TextIOWrapper(f, "latin-1") as lines:
        for line in lines:
            left -= len(line)
            if left <= 0:
                break


def seek(open_file, path, size):
    r = random.Random(3)
    places = [r.randrange(size) for _ in range(SEEKS)]
    with open_file(path) as f:
        for place in places:
            f.seek(place)
            f.read(1000)


def read_on(open_file, path, size):
    """Reads the second half, after a seek to its start."""
    with open_file(path) as f:
        f.seek(size // 2)
        while f.read(1 << 20):
            pass


def deflate(data, is_last):
    """A part of a member, by zlib's level 6."""
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    return deflater.compress(data) + deflater.flush(zlib.Z_FINISH if is_last else zlib.Z_SYNC_FLUSH)


def make_gz(data, path):
    """Writes one member that zlib compresses.  As many threads as there are cores make it, so it is
    flushed between their parts."""
    part = len(data) // cores + 1
    with concurrent.futures.ThreadPoolExecutor(cores) as pool, open(path, "wb") as f:
        f.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
        for out in pool.map(lambda i: deflate(data[i:i + part], i + part >= len(data)),
                            range(0, len(data), part)):
            f.write(out)
        f.write(struct.pack("<II", zlib.crc32(data), len(data) & 0xffffffff))


def measure_files(ways, slow, repeat):
    """Like measure, but ways is a function that gives the ways for all data or its start (slow),
    which is what gzip gets."""
    times = measure({n: w for n, w in ways(False).items() if n != "gzip"}, repeat)
    gzip_times = measure({"gzip": ways(True)["gzip"]}, repeat)["gzip"]
    return {"gzip": tuple(t * slow for t in gzip_times), **times}


def slow_lines(data, part):
    return len(data[:LINES]) / len(part[:LINES])


def write_files(data, part, ways, repeat):
    slow = len(data) / len(part)
    scaled = ("gzip",) if slow > 1 else ()
    writers = ways.writers()
    lines = {False: bytes(data[:LINES]).splitlines(True), True: bytes(part[:LINES]).splitlines(True)}
    whole = {False: data, True: part}
    sizes = {}

    def sized(name, is_slow):
        write(writers[name], whole[is_slow])
        sizes[name] = os.path.getsize(ways.out) / 1e6 * (slow if is_slow else 1)

    times = measure_files(lambda s: {n: lambda n=n: sized(n, s) for n in writers}, slow, repeat)
    rows = [record("write", len(data), times, scaled=scaled)]
    times = measure_files(lambda s: {n: lambda w=w: write_lines(w, lines[s])
                                     for n, w in writers.items()}, slow_lines(data, part), repeat)
    rows.append(record("write lines", len(data[:LINES]), times, scaled=scaled))
    rows.append({n: f"{size:.1f}" for n, size in sizes.items()})
    table(f"Writing {len(data) / 1e6:.0f} MB, s",
          ["1 MiB a call", f"lines, {len(data[:LINES]) / 1e6:.0f} MB", "output, MB"], rows)


def read_files(data, part, ways, repeat, folder):
    slow = len(data) / len(part)
    scaled = ("gzip",) if slow > 1 else ()
    paths = {False: os.path.join(folder, "data.gz"), True: os.path.join(folder, "part.gz")}
    whole = {False: data, True: part}
    for is_slow, path in paths.items():
        make_gz(whole[is_slow], path)
    few = len(data[:LINES])
    columns, rows = [], []
    for work, title, size, way in (
            ("read", "read()", len(data), lambda w, s: read(w, paths[s], -1)),
            ("read 1 MiB", "1 MiB a call", len(data), lambda w, s: read(w, paths[s], 1 << 20)),
            ("read lines", f"lines, {few / 1e6:.0f} MB", few, lambda w, s: read_lines(w, paths[s])),
            ("read text", f"lines of text, {few / 1e6:.0f} MB", few,
             lambda w, s: read_text(w, paths[s])),
            ("seek", f"{SEEKS} seeks", len(data), lambda w, s: seek(w, paths[s], len(whole[s]))),
            ("read on", "the second half", len(data),
             lambda w, s: read_on(w, paths[s], len(whole[s])))):
        chosen = {n: w for n, w in ways.readers().items()
                  if work not in ("seek", "read on") or n in SEEKERS}
        times = measure_files(lambda s, way=way, chosen=chosen: {
            n: lambda w=w: way(w, s) for n, w in chosen.items()},
            slow if size == len(data) else slow_lines(data, part), 1 if work == "seek" else repeat)
        columns.append(title)
        rows.append(record(work, size, times, scaled=scaled))
    table(f"Reading what zlib made of it ({os.path.getsize(paths[False]) / 1e6:.1f} MB), s",
          columns, rows)


# --- Objects in memory -------------------------------------------------------------------------


def many(way, thing, count):
    for _ in range(count):
        way(thing)


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
        packers["gzlzss"] = lambda d: gzlzss.compress(d, level)
        packers["gzlzss, level 1"] = lambda d: gzlzss.compress(d, 1)
        unpackers["gzlzss"] = gzlzss.decompress
    for work, ways, prepare in (("compress", packers, bytes),
                                ("decompress", unpackers, lambda d: gzip.compress(d, 6))):
        rows, out = [], {}
        for size in sizes:
            thing = prepare(data[:size])
            count = max(1, min(2000, 10_000_000 // size))
            chosen = {n: w for n, w in ways.items() if size <= 10_000_000 or n != "gzip"}
            best = measure({n: lambda w=w: many(w, thing, count) for n, w in chosen.items()},
                           repeat if size > 1_000_000 else 3 * repeat)
            best = {n: tuple(t / count for t in times) for n, times in best.items()}
            rows.append(record(work, size, best, 1e-6, 1))
            if work == "compress" and size <= 1_000_000:
                out[size] = {n: str(len(w(thing))) for n, w in ways.items()}
        what = " what gzip made" if work == "decompress" else ""
        table(f"{work}(){what}, us for an object", [f"{n:,} bytes" for n in sizes], rows)
        if out:
            table("bytes of output", [f"{n:,} bytes" for n in out], list(out.values()))


def decompress_pieces(new, packed, piece):
    d = new()
    for i in range(0, len(packed), piece):
        d.decompress(packed[i:i + piece])


def pieces(data, repeat):
    """decompressobj, a piece of the input a call."""
    makers = {"zlib": lambda: zlib.decompressobj(31)}
    if isal_zlib:
        makers["isal.isal_zlib"] = lambda: isal_zlib.decompressobj(31)
    if zlib_ng:
        makers["zlib_ng.zlib_ng"] = lambda: zlib_ng.decompressobj(31)
    if gzlzss:
        makers["gzlzss"] = lambda: gzlzss.decompressobj(31)
    for size in (1000, 100_000, 10_000_000, 100_000_000):
        if size > len(data):
            continue
        packed = gzip.compress(data[:size], 6)
        chosen = [p for p in PIECES if p < len(packed)] or [len(packed)]
        rows = []
        for piece in chosen:
            count = max(1, min(2000, 10_000_000 // size))
            times = measure({n: lambda m=m, p=piece: many(
                lambda packed: decompress_pieces(m, packed, p), packed, count)
                for n, m in makers.items()}, repeat if size > 1_000_000 else 3 * repeat)
            times = {n: tuple(t / count for t in pair) for n, pair in times.items()}
            rows.append(record(f"decompressobj {piece}", size, times, 1e-6, 1))
        table(f"decompressobj(), {size:,} bytes ({len(packed):,} compressed), us",
              [f"{p:,} bytes a call" for p in chosen], rows)


# --- Arrays in a GPU's memory ------------------------------------------------------------------


def gpu_arrays(data, level, repeat):
    """From a GPU's memory to a .gz and back, by gzlzss and by nvCOMP."""
    try:
        import torch
        tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8).cuda()
    except Exception as e:  # whatever PyTorch says without a GPU
        say(f"\nNo arrays in a GPU's memory: {type(e).__name__}: {str(e).splitlines()[0]}")
        return
    packed, back = {}, {}
    packers, unpackers = {}, {}

    def empty(n):
        return torch.empty(n, dtype=torch.uint8, device="cuda")

    if gzlzss:
        for name, l in (("gzlzss", level), ("gzlzss, level 1", 1)):
            packers[name] = lambda name=name, l=l: packed.update({name: gzlzss.compress(tensor, l)})
            unpackers[name] = lambda name=name: back.update(
                {name: gzlzss.decompress_array(packed[name], empty)})
    if nvcomp:
        # Independent chunks of 64 KiB in nvCOMP's own format, which is no .gz.
        codec = nvcomp.Codec(algorithm="Deflate", uncomp_chunk_size=65536)

        def encode():
            packed["nvidia.nvcomp"] = codec.encode(nvcomp.as_array(tensor))
            torch.cuda.synchronize()

        def decode():
            back["nvidia.nvcomp"] = codec.decode(packed["nvidia.nvcomp"])
            torch.cuda.synchronize()

        packers["nvidia.nvcomp"], unpackers["nvidia.nvcomp"] = encode, decode
    rows = []
    for work, ways in (("GPU array to .gz", packers), (".gz to GPU array", unpackers)):
        measure(ways, 1)  # starts the GPU
        rows.append(record(work, len(data), measure(ways, repeat), digits=3))
    for name in back:
        if name.startswith("gzlzss") and not torch.equal(back[name], tensor):
            raise SystemExit(f"{name}: wrong bytes")
    rows.append({n: f"{(len(p) if isinstance(p, bytes) else p.buffer_size) / 1e6:.1f}"
                 for n, p in packed.items()})
    table(f"{len(data) / 1e6:.0f} MB in a GPU's memory, s",
          ["array to .gz", ".gz to array", "output, MB"], rows)


# --- The run -----------------------------------------------------------------------------------


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


def versions():
    from importlib import metadata
    found = [f"Python {platform.python_version()}", f"zlib {zlib.ZLIB_RUNTIME_VERSION}"]
    for name in ("isal", "zlib-ng", "rapidgzip", "mgzip", "nvidia-nvcomp-cu13"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            pass
    return ", ".join(found + ([f"gzlzss {gzlzss.__version__}"] if gzlzss else []))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1000, help="MB of data")
    parser.add_argument("--slow", type=int, help="MB of data that gzip gets")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--level", type=int, default=6)
    parser.add_argument("--busy", action="store_true", help="compare processor times")
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("file", nargs="?")
    args = parser.parse_args()
    global judged
    judged = int(args.busy)
    size = args.size * 1_000_000
    if args.out:
        os.makedirs(args.out, exist_ok=True)
    if args.file:
        with open(args.file, "rb") as f:
            data = f.read(size)
    else:
        data = made(size)
    data = memoryview(data)
    part = data[:args.slow * 1_000_000] if args.slow else data
    say(f"Level {args.level} (isal: {min(args.level, 2)}), {cores} cores, least of {args.repeat}: "
        f"elapsed / processor time ({'processor' if args.busy else 'elapsed'} time / gzlzss's). "
        f"{versions()}.")
    objects(data, args.level, args.repeat)
    pieces(data, args.repeat)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        ways = Ways(os.path.join(folder, "out.gz"), args.level)
        write_files(data, part, ways, args.repeat)
        os.remove(ways.out)
        read_files(data, part, ways, args.repeat, folder)
    gpu_arrays(data, args.level, args.repeat)
    if args.out:
        with open(os.path.join(args.out, "python.csv"), "w", newline="") as f:
            out = csv.writer(f, lineterminator="\n")
            out.writerow(["work", "package", "bytes", "seconds", "processor_seconds"])
            out.writerows(figures)
        with open(os.path.join(args.out, "python.md"), "w") as f:
            f.write("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
