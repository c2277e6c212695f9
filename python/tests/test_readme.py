"""The examples in README.md, the licence, and the types."""
import doctest
import importlib.metadata
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"


class Readme(unittest.TestCase):
    def test_examples(self):
        result = doctest.testfile(str(README), module_relative=False,
                                  optionflags=doctest.NORMALIZE_WHITESPACE)
        self.assertEqual(result.failed, 0)
        self.assertGreater(result.attempted, 15)

    def test_licence(self):
        package = importlib.metadata.distribution("gzlzss")
        self.assertEqual(package.metadata["License"], "MIT")
        if package.read_text("WHEEL") is None:
            self.skipTest("not installed from a wheel: a distribution keeps licences elsewhere")
        texts = [file.read_text() for file in package.files or [] if file.name == "LICENSE"]
        self.assertEqual(len(texts), 1)
        here = README.parent / "LICENSE"
        for file in here, README.parent.parent / "LICENSE":
            if file.exists():
                self.assertEqual(file.read_text(), texts[0])

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "there is no mypy")
    def test_types(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "gzlzss"], cwd=folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
