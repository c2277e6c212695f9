#!/usr/bin/env python3
"""dask_lines.py - two workers of Dask read a .gz in partitions, and write one

    python examples/dask_lines.py IN.gz OUT.gz

Writes the lines of IN.gz in capital letters to OUT.gz.
"""
import sys

from dask.distributed import Client, LocalCluster

import partitions

WORKERS = 2


def main(source, target):
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster, \
            Client(cluster) as client:
        index, places = partitions.plan(source, 4 * WORKERS)
        read = [client.submit(partitions.lines, source, index, a, b) for a, b in places]
        done = client.map(lambda lines: b"".join(lines).upper(), read)
        data = b"".join(client.gather(done))
        cuts = partitions.cut(len(data), 4 * WORKERS)
        parts = client.gather([client.submit(partitions.pack, data[a:b], b == len(data))
                               for a, b in cuts])
    with open(target, "wb") as f:
        f.write(partitions.join(parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
