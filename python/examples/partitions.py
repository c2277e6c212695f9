"""partitions.py - one large .gz in partitions: what dask_lines.py and mpi_lines.py share

Reading: `plan` makes an index once, which takes one pass over the file unless it has marks or is
BGZF. Workers then decode from the places that it tells. A line belongs to the partition in which it
starts.

Writing: each worker compresses some segments of the whole input (`pack`); `join` puts them together.
The file is the same to the byte as gzlzss.compress makes of the whole input.
"""
import io

import gzlzss


def plan(path, count):
    """Returns an index of the file, and the first and last place of each of `count` partitions."""
    index = io.BytesIO()
    with gzlzss.open(path) as f:
        f.export_index(index)
        size = f.size()
    cuts = [size * i // count for i in range(count + 1)]
    return index.getvalue(), list(zip(cuts, cuts[1:]))


def lines(path, index, begin, end):
    """Returns the lines that start in bytes [begin, end) of the data."""
    found = []
    with gzlzss.open(path) as f:
        f.import_index(io.BytesIO(index))
        if begin > 0:
            # The line that goes on here started before, unless one ends just before.
            f.seek(begin - 1)
            f.readline()
        while f.tell() < end and (line := f.readline()):
            found.append(line)
    return found


def cut(size, count):
    """Returns the places at which an input of `size` bytes is cut for `count` workers: only between
    segments."""
    segment = gzlzss.Pool(1).crew().segment_size
    cuts = [size * i // count // segment * segment for i in range(count)] + [size]
    return [(a, b) for a, b in zip(cuts, cuts[1:]) if a < b] or [(0, 0)]


def pack(data, is_last):
    """Compresses some segments; returns the bytes, their CRC and the length of data."""
    packed, check = gzlzss.Pool(1).crew().compress_range(data, is_last)
    return packed, check, len(data)


def join(parts):
    """Returns the .gz of the parts that `pack` has made, in order."""
    crew = gzlzss.Pool(1).crew()
    check = size = 0
    for _, part_check, part_size in parts:
        check = crew.check_combine(check, part_check, part_size)
        size += part_size
    return b"".join([crew.header()] + [packed for packed, _, _ in parts] + [crew.end(check, size)])
