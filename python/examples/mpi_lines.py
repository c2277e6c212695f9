#!/usr/bin/env python3
"""mpi_lines.py - ranks of MPI for Python read a .gz in partitions, and write one

    mpirun -n 2 python examples/mpi_lines.py IN.gz OUT.gz

Writes the lines of IN.gz in capital letters to OUT.gz.
"""
import sys

from mpi4py import MPI

import partitions


def main(source, target):
    world = MPI.COMM_WORLD
    plan = partitions.plan(source, world.size) if world.rank == 0 else None
    index, places = world.bcast(plan)
    mine = b"".join(partitions.lines(source, index, *places[world.rank])).upper()
    # Cuts between lines are not cuts between segments, so rank 0 deals the data anew.
    pieces = world.gather(mine)
    work = None
    if world.rank == 0:
        data = b"".join(pieces)
        cuts = partitions.cut(len(data), world.size)
        work = [(data[a:b], b == len(data)) for a, b in cuts]
        work += [None] * (world.size - len(work))
    given = world.scatter(work)
    parts = world.gather(partitions.pack(*given) if given is not None else None)
    if world.rank == 0:
        with open(target, "wb") as f:
            f.write(partitions.join([part for part in parts if part is not None]))


if __name__ == "__main__":
    main(*sys.argv[1:])
