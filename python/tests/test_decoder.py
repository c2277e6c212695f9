"""decompressobj: what a program can see is as in zlib.

The exceptions are the messages about damaged data, how many bytes are in unconsumed_tail once
max_length is reached, and matches beyond the window (test_far_matches).
"""
import copy
import mmap
import os
import pathlib
import random
import resource
import sys
import threading
import unittest
import zlib

import gzlzss
from data import noise, text

WBITS = (15, 31, -15, 47, 9, 12, -9, 25, 0, 32, 16)
DICTIONARY = b"a dictionary that is worth it, " + bytes(range(256)) * 3


def maker(wbits):
    """The wbits with which zlib makes what a decoder of these wbits reads."""
    return {47: 31, 0: 15, 32: 15, 16: 31}.get(wbits, wbits)


def pack(data, wbits, zdict=None):
    args = (6, zlib.DEFLATED, maker(wbits), 8, zlib.Z_DEFAULT_STRATEGY)
    obj = zlib.compressobj(*args) if zdict is None else zlib.compressobj(*args, zdict)
    return obj.compress(data) + obj.flush()


def drive(module, packed, wbits, seed, zdict=None):
    """Calls a decompressobj at random; returns the output and what its attributes were."""
    r = random.Random(seed)
    d = module.decompressobj(wbits) if zdict is None else module.decompressobj(wbits, zdict)
    out, seen, at = [], [], 0
    most = r.choice((0, 0, 1, 10, 1000, 100_000))
    piece = r.choice((1, 7, 100, 5000, 1_000_000))
    while not d.eof and (at < len(packed) or d.unconsumed_tail):
        chunk = d.unconsumed_tail
        if not chunk:
            chunk = packed[at:at + piece]
            at += piece
        made = d.decompress(chunk, r.randrange(most + 1) if most else 0)
        out.append(made)
        if r.randrange(50) == 0:
            d = copy.copy(d) if r.randrange(2) else d.copy()
    out.append(d.flush())
    seen += [d.eof, d.unconsumed_tail, d.unused_data, d.flush(), d.unused_data]
    return b"".join(out), seen


class Decoder(unittest.TestCase):
    def setUp(self):
        self.inputs = [b"", b"x", text(300), text(5000), text(400_000), noise(70_000),
                       b"ab" * 100_000]

    def test_same_as_zlib(self):
        for wbits in WBITS:
            for data in self.inputs:
                packed = pack(data, wbits) + b"and more"
                for seed in range(12 if len(data) < 10_000 else 3):
                    with self.subTest(wbits=wbits, size=len(data), seed=seed):
                        got = drive(gzlzss.zlib, packed, wbits, seed)
                        self.assertEqual(got[0], data)
                        self.assertEqual(got[1][:3], drive(zlib, packed, wbits, seed)[1][:3])

    def test_dictionaries(self):
        data = DICTIONARY[100:400] * 5 + text(3000)
        for wbits in (15, 9, -15, -10, 47, 0):
            packed = pack(data, 15 if wbits == 47 else wbits, DICTIONARY)
            for seed in range(10):
                self.assertEqual(
                    drive(gzlzss.zlib, packed, wbits, seed, bytearray(DICTIONARY))[0], data)
            for module in gzlzss.zlib, zlib:
                with self.assertRaises(zlib.error) as e:
                    module.decompressobj(wbits).decompress(packed)
                if wbits > 0:
                    self.assertEqual(str(e.exception), "Error 2 while decompressing data")
                    with self.assertRaises(zlib.error) as e:
                        module.decompressobj(wbits, b"another").decompress(packed)
                    self.assertEqual(str(e.exception),
                                     "Error -3 while setting zdict: invalid input data")

    def test_truncated_and_damaged(self):
        r = random.Random(5)
        for wbits in (15, 31, -15):
            packed = pack(text(3000), wbits)
            for i in range(300):
                broken = bytearray(packed)
                broken[r.randrange(len(broken))] ^= 1 << r.randrange(8)
                if i % 3 == 0:
                    del broken[r.randrange(len(broken)):]
                results = []
                for module in gzlzss.zlib, zlib:
                    d = module.decompressobj(wbits)
                    try:
                        results.append((d.decompress(broken), d.eof, d.unused_data))
                    except zlib.error as e:
                        self.assertRegex(str(e), "Error -3 while decompressing data: .")
                        results.append("error")
                # At the end of cut data, zlib may not have noticed an error.
                if "error" not in results or i % 3 != 0:
                    self.assertEqual(*results)

    def test_messages(self):
        for wbits, data in ((31, b"no gzip"), (15, b"no zlib"), (47, b"neither"),
                            (12, zlib.compress(b"data")), (31, b"\x1f\x8b\x09" + bytes(9)),
                            (15, zlib.compress(b"data")[:-1] + b"?"),
                            (31, zlib.compress(b"data", wbits=31)[:-1] + b"?")):
            texts = []
            for module in gzlzss.zlib, zlib:
                with self.assertRaises(zlib.error) as e:
                    module.decompressobj(wbits).decompress(data)
                texts.append(str(e.exception))
            self.assertEqual(*texts)

    def test_arguments(self):
        for module in gzlzss.zlib, zlib:
            d = module.decompressobj()
            for wrong in (lambda: module.decompressobj(wbits=7), lambda: d.flush(0),
                          lambda: module.decompressobj(48), lambda: d.decompress(b"", -1),
                          lambda: module.decompressobj(-7), lambda: d.decompress(b"", -5)):
                self.assertRaises(ValueError, wrong)
            for wrong in (lambda: module.decompressobj(zdict=5), lambda: d.decompress("text"),
                          lambda: module.decompressobj(15, None), lambda: d.decompress(),
                          lambda: d.flush(b"")):
                self.assertRaises(TypeError, wrong)
            with self.assertRaises(AttributeError):
                d.eof = True

    def test_after_the_end(self):
        packed = pack(b"data" * 100, 15) + b"trail"
        for most, calls in ((10, "ffdfef"), (10, "tffd"), (0, "dfefdc"), (0, "fdcd"),
                            (400, "ddffef")):
            seen = []
            for module in gzlzss.zlib, zlib:
                d = module.decompressobj()
                states = [d.decompress(packed, most)]
                for call in calls:
                    try:
                        states.append({"d": lambda: d.decompress(b"more"),
                                       "e": lambda: d.decompress(b""), "f": d.flush,
                                       "t": lambda: d.decompress(d.unconsumed_tail),
                                       "c": lambda: d.copy().eof}[call]())
                    except (zlib.error, ValueError) as e:
                        states.append((type(e), str(e)))
                    states.append((d.eof, d.unused_data, d.unconsumed_tail))
                seen.append(states)
            with self.subTest(most=most, calls=calls):
                self.assertEqual(*seen)

    def test_own_default_is_gzip(self):
        self.assertEqual(gzlzss.decompressobj().decompress(pack(b"data", 31)), b"data")
        packed = pack(b"data", -15, DICTIONARY)
        self.assertEqual(gzlzss.decompressobj(-15, DICTIONARY).decompress(packed), b"data")

    def test_far_matches(self):
        """The window is always 32 KiB, so pieces make no difference."""
        packed = pack(noise(20_000) * 2, -15)
        for seed in range(8):
            self.assertEqual(drive(gzlzss.zlib, packed, -9, seed)[0], noise(20_000) * 2)

    def test_noise_after_zeros(self):
        """The room for output is not guessed by the ratio so far alone."""
        obj = zlib.compressobj()
        zeros = obj.compress(bytes(8_000_000)) + obj.flush(zlib.Z_SYNC_FLUSH)
        rest = obj.compress(noise(4_000_000)) + obj.flush()
        d = gzlzss.zlib.decompressobj()
        self.assertEqual(d.decompress(zeros), bytes(8_000_000))
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        limits = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (pages * mmap.PAGESIZE + (256 << 20), limits[1]))
        try:
            out = d.decompress(rest)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
        self.assertEqual(out, noise(4_000_000))

    def test_functions_with_other_windows(self):
        for wbits in WBITS:
            packed = pack(text(5000), wbits)
            self.assertEqual(gzlzss.zlib.decompress(packed + b"more", wbits), text(5000))
            self.assertRaises(zlib.error, gzlzss.zlib.decompress, packed[:-5], wbits)

    def test_sizes_of_the_buffer(self):
        for wbits in WBITS:
            packed = pack(b"data", wbits)
            for size in 0, 1, True, sys.maxsize:
                self.assertEqual(gzlzss.zlib.decompress(packed, wbits, size), b"data")
            for size in -1, -2**70, 2**70, sys.maxsize + 1, "1", 1.0, None:
                errors = []
                for module in gzlzss.zlib, zlib:
                    with self.assertRaises((ValueError, TypeError, OverflowError)) as e:
                        module.decompress(packed, wbits, bufsize=size)
                    errors.append((type(e.exception), str(e.exception)))
                with self.subTest(wbits=wbits, size=size):
                    self.assertEqual(*errors)

    def test_threads(self):
        """Calls from several threads take turns."""
        data = text(2_000_000)
        packed = pack(data, 31)
        d = gzlzss.decompressobj()
        d.decompress(packed[:100_000], 1)
        sizes = []
        threads = [threading.Thread(target=lambda: sizes.append(
            len(d.decompress(b"")) + len(d.copy().decompress(b"")))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(sizes), 8)

    @unittest.skipUnless(getattr(sys, "_is_gil_enabled", lambda: True)(), "there is no lock")
    def test_small_output_keeps_the_lock(self):
        """It does so after a call that left much memory for output, too."""
        packed = pack(text(1_000_000), 31)
        small = pack(b"x", 31)
        gzlzss.decompressobj().decompress(packed)
        interval = sys.getswitchinterval()
        go = threading.Lock()
        has_run = []
        thread = threading.Thread(target=lambda: (go.acquire(), has_run.append(True)))
        go.acquire()
        sys.setswitchinterval(1000)
        try:
            thread.start()
            go.release()
            # Now the thread waits for the interpreter's lock.
            for _ in range(20_000):
                gzlzss.decompressobj().decompress(small)
            self.assertEqual(has_run, [])
        finally:
            sys.setswitchinterval(interval)
            thread.join()

    def test_fork(self):
        packed = pack(text(100_000), 31)
        d = gzlzss.decompressobj()
        start = d.decompress(packed[:10_000])
        pid = os.fork()
        if pid == 0:
            os._exit(start + d.decompress(packed[10_000:]) != text(100_000))
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(start + d.decompress(packed[10_000:]), text(100_000))


if __name__ == "__main__":
    unittest.main()
