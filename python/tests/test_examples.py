"""The examples with Dask and MPI for Python, each with two workers, if they are installed."""
import gzip
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import gzlzss
from data import text

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import partitions  # noqa: E402

SIZE = 9_000_000


class Partitions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = pathlib.Path(folder.name) / "in.gz"
        self.target = pathlib.Path(folder.name) / "out.gz"

    def check(self, *command):
        """Runs an example for a file of each kind."""
        data = text(SIZE)
        wanted = gzlzss.compress(data.upper())
        for packed in gzip.compress(data, 1), gzlzss.compress(data), gzlzss.compress(b"no end"):
            self.source.write_bytes(packed)
            subprocess.run([*command, str(self.source), str(self.target)], check=True, timeout=100,
                           stdout=subprocess.DEVNULL)
            if packed == gzlzss.compress(b"no end"):
                wanted = gzlzss.compress(b"NO END")
            self.assertEqual(self.target.read_bytes(), wanted)

    def test_lines(self):
        data = text(SIZE)
        for packed in gzip.compress(data, 1), gzlzss.Pool(bgzf=True).crew().compress(data):
            self.source.write_bytes(packed)
            for count in 1, 3, 50:
                index, places = partitions.plan(self.source, count)
                found = []
                for a, b in places:
                    found += partitions.lines(self.source, index, a, b)
                self.assertEqual(found, data.splitlines(True))

    def test_one_byte_lines(self):
        self.source.write_bytes(gzip.compress(b"\n" * 100))
        index, places = partitions.plan(self.source, 7)
        self.assertEqual([len(partitions.lines(self.source, index, a, b)) for a, b in places],
                         [b - a for a, b in places])

    def test_join(self):
        for size in 0, 1, 2 << 20, SIZE:
            data = text(size)
            for count in 1, 2, 5:
                parts = [partitions.pack(data[a:b], b == size)
                         for a, b in partitions.cut(size, count)]
                self.assertEqual(partitions.join(parts), gzlzss.compress(data))

    @unittest.skipUnless(importlib.util.find_spec("distributed"), "Dask is not installed")
    def test_dask(self):
        self.check(sys.executable, str(EXAMPLES / "dask_lines.py"))

    @unittest.skipUnless(importlib.util.find_spec("mpi4py") and shutil.which("mpirun"),
                         "MPI for Python is not installed")
    def test_mpi(self):
        options = ["--allow-run-as-root", "--oversubscribe"] if "Open MPI" in subprocess.run(
            ["mpirun", "--version"], capture_output=True, text=True).stdout else []
        self.check("mpirun", *options, "-n", "2", sys.executable, str(EXAMPLES / "mpi_lines.py"))


if __name__ == "__main__":
    unittest.main()
