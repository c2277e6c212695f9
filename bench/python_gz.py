#!/usr/bin/env python3
"""python_gz.py - compresses a file with Python's zlib, at level 6, to standard output

    bench/python_gz.py [--bgzf] FILE

The output is one gzip member. With --bgzf, it is a BGZF file, as bgzip writes it (SAM/BAM format
specification, section 4.1): each 65,280 bytes become a member, whose header has its compressed
size, and an empty member marks the end. One process on each core compresses members.
"""
import multiprocessing
import struct
import sys
import zlib

CHUNK = 65280
PIECE = 1 << 20


def bgzf_member(data):
    coder = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = coder.compress(data) + coder.flush()
    # The last two bytes of the header are the size of the member, less one. The member is the
    # header (18 bytes), the body and the trailer (8 bytes).
    header = bytes.fromhex("1f8b08040000000000ff060042430200") + struct.pack("<H", len(body) + 25)
    return header + body + struct.pack("<II", zlib.crc32(data), len(data))


def pieces(file, size):
    while data := file.read(size):
        yield data


def main():
    args = sys.argv[1:]
    bgzf = args[:1] == ["--bgzf"]
    if len(args) != 1 + bgzf or args[-1].startswith("-"):
        sys.exit("usage: bench/python_gz.py [--bgzf] FILE")
    out = sys.stdout.buffer
    with open(args[-1], "rb") as file:
        if bgzf:
            with multiprocessing.Pool() as pool:
                for member in pool.imap(bgzf_member, pieces(file, CHUNK), 64):
                    out.write(member)
            out.write(bgzf_member(b""))
        else:
            coder = zlib.compressobj(6, zlib.DEFLATED, 31)
            for data in pieces(file, PIECE):
                out.write(coder.compress(data))
            out.write(coder.flush())


if __name__ == "__main__":
    main()
