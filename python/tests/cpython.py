#!/usr/bin/env python3
"""cpython.py - runs CPython's own tests of gzip and zlib against this package

    python tests/cpython.py [-v]

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


def read_list():
    """Returns the patterns of the list, each with the comment before it as the reason."""
    found = {}
    reason = []
    in_reason = False
    for line in LIST.read_text().splitlines():
        if line.startswith("#"):
            reason = reason + [line[2:]] if in_reason else [line[2:]]
        elif line:
            pattern, *since = line.split()
            if not since or sys.version_info >= tuple(map(int, since[0].split("."))):
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
    for name in "test_gzip", "test_zlib":
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
