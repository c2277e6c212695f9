#!/usr/bin/env python3
"""peers.py - runs other projects' own tests with this package in place of gzip and zlib

    python tests/peers.py [-v] [--folder DIR] [PEER...]

Run it with a Python that has gzlzss, on Linux with CPython's tests (cpython.py says where they are)
and a network. It makes a virtual environment, installs what peers-requirements.txt lists, fetches
the tests (PEERS says from where), and runs them. In that environment, each process has gzlzss in
place of gzip, and gzlzss.zlib in place of zlib, before any other module can import these. Without a
name, all peers are run. --folder keeps what was fetched for the next run.

peers.txt lists the tests that fail, as deviations.txt does for CPython. A failing test that is not
listed is run again without gzlzss. If it fails there, too, it only counts as such: it may need
something that this machine lacks. Otherwise, and if a listed test passes, or a line of the list
matches no test, the status is 1. Prints a line for each peer.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from cpython import read_list

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 3600  # seconds for one peer
TEST_TIMEOUT = 120  # seconds for one test


@dataclasses.dataclass(frozen=True)
class Peer:
    """A project whose tests are run.

    source: "sdist" if its sdist on PyPI has the tests, "wheel" if the installed package has them,
    otherwise the source package of Debian that has them, and its version. tests: files and folders,
    in the source or in the environment's packages. more: further arguments of pytest.
    """
    name: str
    version: str
    source: str
    tests: tuple
    more: tuple = ()


PEERS = [
    # Its modules are replaced by this package, instead of gzip and zlib.
    Peer("isal", "1.8.0", "sdist", ("tests/test_compat.py", "tests/test_gzip_compliance.py",
                                    "tests/test_igzip.py", "tests/test_igzip_threaded.py",
                                    "tests/test_zlib_compliance.py")),
    Peer("nibabel", "5.4.2", "wheel", (
        "nibabel/tests/test_openers.py", "nibabel/tests/test_volumeutils.py",
        "nibabel/tests/test_fileslice.py", "nibabel/tests/test_arrayproxy.py",
        "nibabel/tests/test_filehandles.py", "nibabel/tests/test_image_load_save.py",
        "nibabel/tests/test_loadsave.py", "nibabel/tests/test_nifti1.py",
        "nibabel/tests/test_files_interface.py")),
    Peer("pandas", "3.1.1", "wheel", (
        "pandas/tests/io/test_compression.py", "pandas/tests/io/parser/test_compression.py",
        "pandas/tests/io/json/test_compression.py", "pandas/tests/io/test_pickle.py",
        "pandas/tests/io/formats/test_to_csv.py", "pandas/tests/io/test_stata.py",
        "pandas/tests/io/parser/common/test_file_buffer_url.py",
        "pandas/tests/io/xml/test_xml.py", "pandas/tests/io/xml/test_to_xml.py"),
         ("-k", "compress or gzip or zip")),
    # Later sdists lack the data of the tests.
    Peer("warcio", "1.6.3", "sdist", (
        "test/test_archiveiterator.py", "test/test_bufferedreaders.py", "test/test_cli.py",
        "test/test_limitreader.py", "test/test_utils.py", "test/test_writer.py")),
    # The other files have nothing to do with compression, or need a proxy. Of the two largest, only
    # the tests of compression are run: all take a quarter of an hour.
    Peer("aiohttp", "3.14.5", "sdist", (
        "tests/test_client_functional.py", "tests/test_client_ws_functional.py",
        "tests/test_compression_utils.py", "tests/test_http_parser.py",
        "tests/test_http_writer.py", "tests/test_multipart.py", "tests/test_payload.py",
        "tests/test_web_functional.py", "tests/test_web_response.py",
        "tests/test_web_sendfile_functional.py", "tests/test_web_websocket.py",
        "tests/test_web_websocket_functional.py", "tests/test_websocket_handshake.py",
        "tests/test_websocket_parser.py", "tests/test_websocket_writer.py"),
         ("-k", "not (test_client_functional or test_web_functional) or compress or deflate or gzip")),
    # Its sdist has only some of the tests. Those that are left out fail now and then, without gzlzss,
    # too: they count on one of two threads to be first.
    Peer("websockets", "15.0.1", "trixie python-websockets=15.0.1-1", ("tests",),
         ("-k", "not (test_writing_in_recv_events_fails or test_writing_in_send_context_fails)")),
]

# --- In the environment ---------------------------------------------------------------------------

IN_PLACE = """\
import os
import sys

if os.environ.get("GZLZSS_IN_PLACE"):
    import gzlzss

    sys.modules["gzip"] = gzlzss
    sys.modules["zlib"] = gzlzss.zlib
"""


def replace_isal():
    """Puts this package in the place of isal's modules. igzip_lib is isal's own."""
    import gzlzss
    import isal
    for name, module in ("igzip", gzlzss), ("isal_zlib", gzlzss.zlib), ("igzip_threaded", gzlzss):
        sys.modules[f"isal.{name}"] = module
        setattr(isal, name, module)


class Recorder:
    """A plugin of pytest that notes how each test ended."""

    def __init__(self):
        self.ends = {}
        self.texts = {}

    def pytest_collectreport(self, report):
        if report.failed:
            self.note(report.nodeid, "failed", report)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.note(report.nodeid, "failed", report)
        elif report.skipped:
            self.ends.setdefault(report.nodeid, "skipped")
        elif report.when == "call":
            self.ends.setdefault(report.nodeid, "passed")

    def note(self, test, end, report):
        self.ends[test] = end
        self.texts[test] = str(report.longrepr)


def run_inside(arguments):
    """Runs pytest, and writes what came out to a file."""
    is_isal, file, *rest = arguments
    sys.path.pop(0)  # the folder of this script has modules of its own
    if is_isal == "isal":
        replace_isal()
    import pytest
    recorder = Recorder()
    pytest.main(rest, plugins=[recorder])
    pathlib.Path(file).write_text(json.dumps([recorder.ends, recorder.texts]))


# --- The list -------------------------------------------------------------------------------------

def matches(pattern, test):
    """Whether the pattern is the test's name, where a * in the pattern may stand for anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), test) is not None


# --- Fetching -------------------------------------------------------------------------------------

class Place:
    """The folder with the environment and the tests."""

    def __init__(self, folder):
        self.folder = folder
        self.python = folder / "venv" / "bin" / "python"

    def pip(self, *arguments):
        subprocess.run([self.python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments],
                       check=True)

    def prepare(self):
        subprocess.run([sys.executable, "-m", "venv", self.folder / "venv"], check=True)
        self.pip("install", "-r", HERE / "peers-requirements.txt")
        self.packages = pathlib.Path(subprocess.run(
            [self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
        import gzlzss
        link = self.packages / "gzlzss"
        if link.is_symlink():
            link.unlink()
        link.symlink_to(pathlib.Path(gzlzss.__file__).parent)
        (self.packages / "gzlzss_in_place.py").write_text(IN_PLACE)
        (self.packages / "gzlzss_in_place.pth").write_text("import gzlzss_in_place\n")

    def fetch(self, peer):
        """Returns the folder that peer.tests are in."""
        if peer.source == "wheel":
            return self.packages
        target = self.folder / "tests" / peer.name
        if not target.is_dir():
            downloads = self.folder / "downloads" / peer.name
            downloads.mkdir(parents=True, exist_ok=True)
            if peer.source == "sdist":
                self.pip("download", "--no-deps", "--no-binary", peer.name, "-d", downloads,
                         f"{peer.name}=={peer.version}")
            else:
                fetch_from_debian(downloads, *peer.source.split())
            archive, = downloads.glob("*.tar.gz")
            unpack(archive, target, peer)
        return target


def unpack(archive, target, peer):
    """Unpacks the tests alone, so that the installed package is tested, not its sources."""
    top = peer.tests[0].split("/")[0]
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        with tarfile.open(archive) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extractall(folder, filter="data")
            else:
                tar.extractall(folder)
        source, = pathlib.Path(folder).iterdir()
        target.mkdir(parents=True)
        shutil.move(source / top, target / top)


def fetch_from_debian(folder, suite, package):
    """Gets the upstream tarball of a source package. apt checks the sums, also where the system's
    own sources are of another suite."""
    for name in "lists/partial", "cache/archives/partial":
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(f"deb-src http://deb.debian.org/debian/ {suite} main\n")
    (folder / "apt.conf").write_text(
        f'Dir::Etc::SourceList "{folder}/sources.list";\nDir::Etc::SourceParts "-";\n'
        f'Dir::State::Lists "{folder}/lists";\nDir::Cache "{folder}/cache";\n'
        'Acquire::Retries "3";\n')
    environment = dict(os.environ, APT_CONFIG=str(folder / "apt.conf"))
    for command in (["update"], ["source", "--download-only", "--tar-only", package]):
        subprocess.run(["apt-get", "-qq", *command], cwd=folder, env=environment, check=True)


# --- Running --------------------------------------------------------------------------------------

def run(place, peer, folder, tests, is_replaced):
    """Runs tests, and returns how they ended, and the texts of the failures."""
    out = place.folder / f"{peer.name}.json"
    out.unlink(missing_ok=True)
    ini = place.folder / "pytest.ini"
    ini.write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PYTHONPATH", "PYTEST_ADDOPTS", "GZLZSS_IN_PLACE")}
    # websockets waits only some milliseconds for things that take longer on a busy machine.
    environment["WEBSOCKETS_TESTS_TIMEOUT_FACTOR"] = "10"
    is_isal = is_replaced and peer.name == "isal"
    if is_replaced and not is_isal:
        environment["GZLZSS_IN_PLACE"] = "1"
    command = [place.python, __file__, "--inside", "isal" if is_isal else "", out, "-q", "-c", ini,
               "--rootdir", folder, "-p", "no:cacheprovider", "--timeout", str(TEST_TIMEOUT),
               "--basetemp", place.folder / "tmp", *peer.more, *tests]
    with open(place.folder / f"{peer.name}.log", "wb") as log:
        subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                       stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
    if not out.exists():
        sys.exit(f"peers.py: the tests of {peer.name} ended early; see {log.name}")
    return json.loads(out.read_text())


def judge(place, peer, patterns, is_verbose):
    """Runs the tests of a peer, prints what came out, and returns whether it is as listed."""
    folder = place.fetch(peer)
    ends, texts = run(place, peer, folder, peer.tests, True)
    listed = {test: next((pattern for pattern in patterns if matches(pattern, test)), None)
              for test in ends}
    passed = [test for test in ends if ends[test] == "passed"]
    failed = [test for test in ends if ends[test] == "failed"]
    wrong = [test for test in failed if listed[test] is None]
    anyway = []
    if wrong:
        plain, _ = run(place, peer, folder, wrong, False)
        # A name without :: is a file that cannot be read.
        anyway = [test for test in wrong if plain.get(test) == "failed" and "::" in test]
        wrong = [test for test in wrong if test not in anyway]
    surprising = [test for test in passed if listed[test] is not None]
    unused = [pattern for pattern in patterns if pattern not in listed.values()]
    for test in wrong:
        print(f"FAILED {peer.name}:{test}\n{texts[test]}")
    for test in surprising:
        print(f"PASSED, but the list says that it fails: {peer.name}:{test}")
    for pattern in unused:
        print(f"No test has the listed name {peer.name}:{pattern}")
    if is_verbose:
        for test in anyway:
            print(f"fails without gzlzss, too: {peer.name}:{test}")
        for test in failed:
            if listed[test] is not None:
                print(f"fails as listed: {peer.name}:{test}: {patterns[listed[test]]}")
    print(f"{peer.name} {peer.version}: {len(passed) - len(surprising)} passed, "
          f"{len(failed) - len(wrong) - len(anyway)} failed as listed, "
          f"{len(anyway)} fail without gzlzss, too, "
          f"{sum(end == 'skipped' for end in ends.values())} skipped, "
          f"{len(wrong) + len(surprising) + len(unused)} failed", flush=True)
    return not (wrong or surprising or unused)


def main():
    parser = argparse.ArgumentParser(description="runs other projects' tests with gzlzss")
    parser.add_argument("-v", action="store_true", help="print the failing tests that are listed")
    parser.add_argument("--folder", type=pathlib.Path, help="where to keep what is fetched")
    parser.add_argument("peers", nargs="*", metavar="PEER",
                        help="cpython, " + ", ".join(peer.name for peer in PEERS))
    options = parser.parse_args()
    wanted = options.peers or ["cpython"] + [peer.name for peer in PEERS]
    unknown = set(wanted) - {"cpython"} - {peer.name for peer in PEERS}
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    all_patterns = read_list(HERE / "peers.txt")
    is_good = True
    if "cpython" in wanted:
        is_good = subprocess.run([sys.executable, HERE / "cpython.py", "all"]).returncode == 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Place((options.folder or pathlib.Path(temporary)).resolve())
        chosen = [peer for peer in PEERS if peer.name in wanted]
        if chosen:
            place.prepare()
        for peer in chosen:
            patterns = {pattern[len(peer.name) + 1:]: reason
                        for pattern, reason in all_patterns.items()
                        if pattern.startswith(peer.name + ":")}
            is_good = judge(place, peer, patterns, options.v) and is_good
    sys.exit(not is_good)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        run_inside(sys.argv[2:])
    else:
        main()
