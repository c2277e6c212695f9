"""Other packages that take files or compressions: fsspec, pandas, polars, if they are installed."""
import gzip
import importlib
import io
import tempfile
import unittest

import gzlzss
from data import gzipped, text

def find(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


fsspec, pandas, polars = find("fsspec"), find("pandas"), find("polars")


@unittest.skipUnless(fsspec, "fsspec is not installed")
class Fsspec(unittest.TestCase):
    def test_both_directions(self):
        gzlzss.register_fsspec("gzlzss-test")
        with tempfile.NamedTemporaryFile(suffix=".gz") as file:
            with fsspec.open(file.name, "wb", compression="gzlzss-test") as f:
                self.assertIsInstance(f, gzlzss.GzipFile)
                f.write(text(1000))
            self.assertEqual(gzip.open(file.name).read(), text(1000))
            with fsspec.open(file.name, "rt", compression="gzlzss-test", newline="") as f:
                self.assertEqual(f.read(), text(1000).decode())

    def test_memory_file_system(self):
        gzlzss.register_fsspec("gzip", ["gz"], force=True)
        with fsspec.open("memory://file.gz", "wb") as f:
            f.write(gzipped(300_000))
        with fsspec.open("memory://file.gz", "rb", compression="infer") as f:
            self.assertIsInstance(f, gzlzss.GzipFile)
            f.seek(200_000)
            self.assertEqual(f.read(100), text(300_000)[200_000:200_100])


ROWS = 50_000


@unittest.skipUnless(pandas, "pandas is not installed")
class Pandas(unittest.TestCase):
    def test_both_directions(self):
        frame = pandas.DataFrame({"a": range(ROWS), "b": [str(i) for i in range(ROWS)]})
        for mode in "wb", "wt":
            file = io.BytesIO()
            with gzlzss.open(file, mode) as f:
                frame.to_csv(f, index=False)
            self.assertEqual(gzip.decompress(file.getvalue()), frame.to_csv(index=False).encode())
            file.seek(0)
            with gzlzss.open(file, mode.replace("w", "r")) as f:
                self.assertTrue(pandas.read_csv(f, dtype={"b": str}).equals(frame))
        file = io.BytesIO()
        with gzlzss.open(file, "wb") as f:
            frame.to_pickle(f)
        file.seek(0)
        with gzlzss.open(file) as f:
            self.assertTrue(pandas.read_pickle(f).equals(frame))


@unittest.skipUnless(polars, "polars is not installed")
class Polars(unittest.TestCase):
    def test_both_directions(self):
        frame = polars.DataFrame({"a": range(ROWS)})
        file = io.BytesIO()
        with gzlzss.open(file, "wb") as f:
            frame.write_csv(f)
        file.seek(0)
        with gzlzss.open(file) as f:
            self.assertTrue(polars.read_csv(f).equals(frame))


if __name__ == "__main__":
    unittest.main()
