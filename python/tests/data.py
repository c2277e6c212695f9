"""Data for the tests."""
import functools
import gzip
import random


@functools.lru_cache(None)
def text(size: int, seed: int = 1) -> bytes:
    """Lines of words; they compress to about a third."""
    r = random.Random(seed)
    words = ["".join(r.choices("etaoinshrdlu", k=r.randint(2, 9))) for _ in range(2000)]
    lines = []
    length = 0
    while length < size:
        line = " ".join(r.choices(words, k=r.randint(3, 15))) + "\n"
        lines.append(line)
        length += len(line)
    return "".join(lines).encode()[:size]


@functools.lru_cache(None)
def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


@functools.lru_cache(None)
def gzipped(size: int, seed: int = 1) -> bytes:
    """What gzip makes of text(size, seed): one member without marks."""
    return gzip.compress(text(size, seed), 6, mtime=1)
