"""fsspec, if it is installed."""
import gzip
import tempfile
import unittest

import gzlzss
from data import gzipped, text

try:
    import fsspec
except ImportError:
    fsspec = None


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


if __name__ == "__main__":
    unittest.main()
