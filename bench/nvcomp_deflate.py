#!/usr/bin/env python3
"""nvcomp_deflate.py - measures nvCOMP's batched DEFLATE on a file

    bench/nvcomp_deflate.py [-r RUNS] [-n BYTES] FILE
    bench/nvcomp_deflate.py --version

Cuts the first BYTES (default 256 MiB) of FILE into chunks of 64 KiB. Each chunk becomes a raw
DEFLATE stream. Prints a line LEVEL,BYTES,OUT_BYTES,SECONDS,CHECKED for each of nvCOMP's algorithm
types, which are its levels. SECONDS is the best of RUNS (default 3), after one run that does not
count. It is from data in the GPU's memory to data in the GPU's memory, without reading, copying or
writing, and the result is no .gz file. Python's zlib decompresses every chunk; CHECKED is "zlib" if
all are right, else "WRONG".

Without nvCOMP, numpy or a GPU that nvCOMP can use, prints why, and exits with status 3.
"""
import argparse
import sys
import time
import zlib

CHUNK = 65536
# The types of nvCOMP's algorithm to measure. A higher type is slower and has a better ratio. Type 0
# is left out because it finds no matches (it is only entropy coding), and type 3 because it is the
# same as type 2.
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
    """Copies the chunks to the GPU. Returns a list of arrays up to nvCOMP 5, and a batch from 6 on."""
    arrays = nvcomp.as_arrays(chunks)
    return [a.cuda() for a in arrays] if isinstance(arrays, list) else arrays.cuda()


def sizes(arrays):
    """Returns the arrays' sizes in bytes. Asking for them waits until the GPU is done."""
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
    """Returns the best time, the sum of the compressed sizes, and whether all streams are right."""
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
    # If a GPU, a driver or a library is missing, nvCOMP's exception says which.
    try:
        for level in LEVELS:
            seconds, total, right = measure(nvcomp, np, chunks, level, args.runs)
            print(f"{level},{data.size},{total},{seconds:.6f},{'zlib' if right else 'WRONG'}", flush=True)
    except Exception as e:
        give_up(f"nvCOMP {nvcomp.__version__}: {e}")


if __name__ == "__main__":
    main()
