#!/usr/bin/env python3
"""nvcomp_deflate.py - what nvCOMP's batched DEFLATE makes of a file

    bench/nvcomp_deflate.py [-r RUNS] [-n BYTES] FILE
    bench/nvcomp_deflate.py --version

The first BYTES (default 256 MiB) of FILE are cut into chunks of 64 KiB, each of which becomes a raw
DEFLATE stream of its own.  Prints a line LEVEL,BYTES,OUT_BYTES,SECONDS,CHECKED for each of nvCOMP's
algorithm types (its levels); the time is the best of RUNS (default 3) after one that does not count,
from data in the GPU's memory to data in the GPU's memory: neither reading, nor copying, nor writing is
in it, and what comes out is no .gz file.  Every chunk is decompressed by Python's zlib and compared;
CHECKED is "zlib", or "WRONG".

Where there is no nvCOMP, no numpy or no GPU that it can use, it says so and its exit status is 3.
"""
import argparse
import sys
import time
import zlib

CHUNK = 65536
# From the fastest that finds matches to the best ratio; 0 is entropy coding alone, and 3 the same as 2.
LEVELS = (1, 2, 4, 5)


def give_up(why):
    print(f"nvcomp_deflate.py: {why}", file=sys.stderr)
    sys.exit(3)


def import_nvcomp():
    try:
        from nvidia import nvcomp
    except ImportError:
        try:
            import nvcomp
        except ImportError as e:
            give_up(e)
    return nvcomp


def on_gpu(nvcomp, chunks):
    """The chunks in the GPU's memory: up to nvCOMP 5 a list of arrays, from 6 on a batch."""
    arrays = nvcomp.as_arrays(chunks)
    return [a.cuda() for a in arrays] if isinstance(arrays, list) else arrays.cuda()


def sizes(arrays):
    """The arrays' sizes in bytes, once the GPU has finished them: that is what asking waits for."""
    if isinstance(arrays, list):
        return [a.buffer_size for a in arrays]
    return list(arrays.buffer_sizes)


def is_right(np, arrays, chunks):
    arrays = [a.cpu() for a in arrays] if isinstance(arrays, list) else arrays.cpu()
    try:
        return all(
            zlib.decompress(np.asarray(arrays[i]).tobytes(), wbits=-15) == chunk.tobytes()
            for i, chunk in enumerate(chunks)
        )
    except zlib.error:
        return False


def measure(nvcomp, np, chunks, level, runs):
    """The best time and the sum of the compressed sizes, and whether they are right."""
    codec = nvcomp.Codec(
        algorithm="Deflate",
        algorithm_type=level,
        uncomp_chunk_size=CHUNK,
        bitstream_kind=nvcomp.BitstreamKind.RAW,
    )
    source = on_gpu(nvcomp, chunks)
    best = None
    for run in range(runs + 1):
        start = time.perf_counter()
        out = codec.encode(source)
        total = sum(sizes(out))
        seconds = time.perf_counter() - start
        if run > 0 and (best is None or seconds < best):
            best = seconds
    return best, total, is_right(np, out, chunks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-r", type=int, default=3, dest="runs")
    parser.add_argument("-n", type=int, default=256 << 20, dest="bytes")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("file", nargs="?")
    args = parser.parse_args()
    nvcomp = import_nvcomp()
    if args.version:
        print(nvcomp.__version__)
        return
    if args.file is None or args.runs < 1:
        parser.error("one file, and at least one run")
    try:
        import numpy as np
    except ImportError as e:
        give_up(e)
    data = np.fromfile(args.file, dtype=np.uint8, count=args.bytes)
    if data.size == 0:
        give_up(f"{args.file} is empty")
    chunks = [data[i : i + CHUNK] for i in range(0, data.size, CHUNK)]
    # nvCOMP's own exceptions say what is missing, be it a GPU, a driver or a library.
    try:
        for level in LEVELS:
            seconds, total, right = measure(nvcomp, np, chunks, level, args.runs)
            print(f"{level},{data.size},{total},{seconds:.6f},{'zlib' if right else 'WRONG'}", flush=True)
    except Exception as e:
        give_up(f"nvCOMP {nvcomp.__version__}: {e}")


if __name__ == "__main__":
    main()
