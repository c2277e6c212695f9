"""The examples in README.md."""
import doctest
import pathlib
import unittest

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"


class Readme(unittest.TestCase):
    def test_examples(self):
        result = doctest.testfile(str(README), module_relative=False,
                                  optionflags=doctest.NORMALIZE_WHITESPACE)
        self.assertEqual(result.failed, 0)
        self.assertGreater(result.attempted, 15)


if __name__ == "__main__":
    unittest.main()
