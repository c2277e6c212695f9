#!/usr/bin/env python3
"""cpython.py - runs CPython's own tests of gzip and zlib against this package

    python tests/cpython.py [-v] [all]

With `all`, also those of tarfile, zipfile and shutil, which use gzip and zlib.

The tests are those of the interpreter that runs the script; distributions have them in a package of
their own (Debian: libpython3.11-testsuite). They get gzlzss in place of gzip, and gzlzss.zlib in place
of zlib. deviations.txt lists the tests that fail, with the reasons. Prints how many tests passed,
failed as listed, and failed or passed unlike the list; in that last case, the status is 1.
"""
import fnmatch
import importlib
import pathlib
import sys
import unittest

import gzlzss

LIST = pathlib.Path(__file__).with_name("deviations.txt")


def holds(condition):
    """Whether a condition of the list holds: 3.13 is this version and newer, <3.13 older ones."""
    version = tuple(map(int, condition.lstrip("<").split(".")))
    return (sys.version_info < version) == condition.startswith("<")


def read_list(file=LIST):
    """Returns the patterns of a list, each with the comment before it as the reason."""
    found = {}
    reason = []
    in_reason = False
    for line in file.read_text().splitlines():
        if line.startswith("#"):
            reason = reason + [line[2:]] if in_reason else [line[2:]]
        elif line:
            pattern, *conditions = line.split()
            if all(map(holds, conditions)):
                found[pattern] = " ".join(reason)
        in_reason = line.startswith("#")
    return found


def load(name):
    try:
        module = importlib.import_module(f"test.{name}")
    except ImportError:
        sys.exit(f"cpython.py: this Python has no test.{name}")
    return unittest.defaultTestLoader.loadTestsFromModule(module)


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.passed = []
        self.broken = {}

    def addSuccess(self, test):
        self.passed.append(test.id())

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(test, err)

    def note(self, test, err):
        text = self._exc_info_to_string(err, test)
        self.broken.setdefault(test.id(), text)

    addFailure = addError = note


def main():
    sys.modules["gzip"] = gzlzss
    sys.modules["zlib"] = gzlzss.zlib
    result = Result()
    names = ["test_gzip", "test_zlib"]
    if "all" in sys.argv:
        names += ["test_tarfile", "test_zipfile", "test_shutil"]
        # These have looked for zlib already, if something has imported them.
        for name in "shutil", "tarfile", "zipfile":
            sys.modules.pop(name, None)
    for name in names:
        load(name).run(result)
    passed = [test for test in result.passed if test not in result.broken]
    deviations = read_list()
    listed = {test: next((reason for pattern, reason in deviations.items()
                          if fnmatch.fnmatch(test, pattern)), None)
              for test in list(result.broken) + passed}
    expected = [test for test in result.broken if listed[test]]
    wrong = [test for test in result.broken if not listed[test]]
    surprising = [test for test in passed if listed[test]]
    for test in wrong:
        print(f"FAILED {test}\n{result.broken[test]}")
    for test in surprising:
        print(f"PASSED, but the list says that it fails: {test}")
    if "-v" in sys.argv:
        for test in expected:
            print(f"fails as listed: {test}: {listed[test]}")
    print(f"Python {sys.version.split()[0]}: {len(passed) - len(surprising)} passed, "
          f"{len(expected)} failed as listed, {len(result.skipped)} skipped, "
          f"{len(wrong) + len(surprising)} failed")
    sys.exit(bool(wrong or surprising))


if __name__ == "__main__":
    main()
