#!/usr/bin/env python3
"""tensors.py - takes a tensor from a GPU's memory to a .gz and back, and counts what is copied

    bench/tensors.py [--size=MB] [--repeat=N] [--level=N]

Prints the least elapsed time of N turns, and the bytes that PyTorch's profiler has seen copied
between host and GPU in one more turn: to the host (DtoH), to the GPU (HtoD) and within the GPU
(DtoD), each as a multiple of the tensor's bytes. The program itself copies nothing. When it
compresses, the CPU compares each match with the input, so the tensor's bytes are copied to the
host. Needs PyTorch, a GPU and gzlzss with CUDA.
"""
import argparse
import json
import os
import resource
import tempfile
import time
import zlib

import torch

import gzlzss

KINDS = ("DtoH", "HtoD", "DtoD")


def copied(work):
    """Returns the bytes that were copied while `work` ran, by kind."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as p:
        work()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "trace.json")
        p.export_chrome_trace(name)
        with open(name, encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
    total = dict.fromkeys(KINDS, 0)
    for event in events:
        for kind in KINDS:
            if event.get("cat") == "gpu_memcpy" and kind in event["name"]:
                total[kind] += int(event["args"].get("bytes", 0))
    return total


def least(work, repeat):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=1000, help="MB of the tensor")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--level", type=int, default=6)
    args = parser.parse_args()
    n = args.size * 1_000_000
    # Text-like: 8-bit values with few different ones, and repeats.
    torch.manual_seed(1)
    words = torch.randint(97, 123, (20_000, 6), dtype=torch.uint8, device="cuda")
    tensor = words[torch.randint(0, 20_000, (n // 6 + 1,), device="cuda")].flatten()[:n].clone()
    packed, back = [None], [None]

    def compress():
        packed[0] = gzlzss.compress(tensor, args.level)

    def decompress():
        back[0] = gzlzss.decompress_array(
            packed[0], lambda size: torch.empty(size, dtype=torch.uint8, device="cuda"))

    compress()
    decompress()
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n / 1e6:.0f} MB to {len(packed[0]) / 1e6:.1f} MB, level {args.level}; the process has "
          f"had {host:.0f} MiB of the host's memory")
    for name, work in (("tensor to .gz", compress), (".gz to tensor", decompress)):
        seconds = least(work, args.repeat)
        bytes_of = copied(work)
        print(f"{name}: {seconds:.4f} s, {n / seconds / 1e9:.2f} GB/s; copied: " + ", ".join(
            f"{kind} {count / 1e6:.1f} MB ({count / n:.3f})" for kind, count in bytes_of.items()))
    if not torch.equal(back[0], tensor):
        raise SystemExit("the tensor is wrong")
    size = 10_000_000
    small = tensor[:size].clone()
    if zlib.decompress(gzlzss.compress(small), 31) != small.cpu().numpy().tobytes():
        raise SystemExit("the .gz is wrong")
    print("right: torch.equal, and zlib reads it")


if __name__ == "__main__":
    main()
