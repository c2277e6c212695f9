"""setup.py - builds the package gzlzss

By default, the library and the command are compiled from the sources of this checkout, or of the
sdist, which has a copy of them. So nothing of gzlzss has to be installed; zlib has to.

    GZLZSS_SYSTEM=1    use an installed libgzlzss instead (pkg-config finds it), as one with CUDA
    GZLZSS_ISAL=0      do without ISA-L, even if its header is found
    GZLZSS_MODULES=DIR where the GPU engine, cuda.so, is installed (/usr/local/lib/gzlzss)

The lists of sources are those of Makefile.am.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
COPY = HERE / "library"  # in an sdist
TOP = COPY if COPY.is_dir() else HERE.parent
MODULES = os.environ.get("GZLZSS_MODULES", "/usr/local/lib/gzlzss")
IS_SYSTEM = os.environ.get("GZLZSS_SYSTEM", "") not in ("", "0")

# Files besides the lists that the build reads.
OTHER_FILES = ["Makefile.am", "configure.ac", "LICENSE"]

# The same flags as configure's; see there for the reasons. CFLAGS come after them.
CFLAGS = ["-std=gnu17", "-O3", "-pthread", "-fvisibility=hidden", "-fno-split-paths",
          "-fstack-protector-strong", "-fno-strict-aliasing", "-Wno-unused-result"]
LDFLAGS = ["-Wl,-z,relro,-z,now", "-pthread"]

# The limited API has buffers since Python 3.11. An interpreter without a global lock has no limited
# API.
IS_LIMITED = sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED")
LIMITED = "0x030b0000"


def version():
    text = (TOP / "configure.ac").read_text()
    return re.search(r"^AC_INIT\(\[gzlzss\], \[([^]]+)\]\)", text, re.M).group(1)


def sources(*names):
    """Returns the files of these variables of Makefile.am."""
    text = (TOP / "Makefile.am").read_text().replace("\\\n", " ")
    found = []
    for name in names:
        value = re.search(rf"^{name} = (.*)$", text, re.M).group(1)
        found += [word for word in value.split() if not word.startswith("$")]
    return found


def library_files():
    """The sources of the library, and its headers. The GPU engine is a module of its own."""
    return sources("core_sources", "papers_sources", "library_sources")


def command_files():
    return sources("command_sources") + ["src/main.c"]


class Builder(build_ext):
    """Compiles side by side, and builds the command beside the extension module."""

    def run(self):
        # build/ may be of an earlier call with other sources of the library, or another
        # GZLZSS_SYSTEM. build_ext would keep its module, since it looks at the times of src/ only.
        self.force = True
        self.command_file().unlink(missing_ok=True)
        # An editable install has the module and the command in the source tree.
        super().run()
        if not IS_SYSTEM:
            self.build_command()

    def command_file(self):
        return pathlib.Path(self.get_ext_fullpath("gzlzss._core")).parent / "gzlzss-command"

    def build_extension(self, ext):
        if IS_SYSTEM:
            super().build_extension(ext)
            return
        self.write_config()
        self.library = self.archive(self.compile(library_files(), str(TOP)))
        ext.extra_objects = [self.library]
        ext.include_dirs.append(str(TOP / "include"))
        super().build_extension(ext)

    def write_config(self):
        """Writes what configure finds out to config.h."""
        self.config = pathlib.Path(self.build_temp).resolve() / "config"
        self.config.mkdir(parents=True, exist_ok=True)
        lines = ["#define _GNU_SOURCE 1", "#define _FILE_OFFSET_BITS 64",
                 "#define HAVE_PAPERS 1", '#define PACKAGE "gzlzss"',
                 '#define PACKAGE_NAME "gzlzss"', f'#define PACKAGE_VERSION "{version()}"',
                 f'#define PACKAGE_STRING "gzlzss {version()}"',
                 f'#define MODULE_DIR "{MODULES}"']
        if self.compiles("#include <sys/platform/x86.h>\n"):
            lines.append("#define HAVE_SYS_PLATFORM_X86_H 1")
        if self.compiles("#define _GNU_SOURCE\n#include <sched.h>\n"
                         "int f(void);\nint f(void) { return sched_getcpu(); }\n"):
            lines.append("#define HAVE_SCHED_GETCPU 1")
        if os.environ.get("GZLZSS_ISAL") != "0" and self.compiles(
                "#include <isa-l/igzip_lib.h>\n"):
            lines += ["#define HAVE_ISAL 1", '#define ISAL_SONAME "libisal.so.2"']
        text = "\n".join(lines) + "\n"
        file = self.config / "config.h"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)

    def compiles(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "try.c"
            source.write_text(text)
            command = self.compiler.compiler + ["-Werror", "-c", str(source), "-o",
                                                str(source) + ".o"]
            return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def compile(self, files, top):
        files = [str(pathlib.Path(top) / file) for file in files if file.endswith(".c")]
        flags = CFLAGS + ["-fPIC"] + shlex.split(os.environ.get("CFLAGS", ""))

        def one(file):
            target = pathlib.Path(self.build_temp).resolve() / "objects" / os.path.relpath(
                file, top).replace(os.sep, "__").replace(".c", ".o")
            target.parent.mkdir(parents=True, exist_ok=True)
            command = self.cc() + flags + [
                f"-I{self.config}", f"-I{top}", f"-I{top}/include", "-c", file, "-o", str(target)]
            subprocess.run(command, check=True)
            return str(target)

        workers = int(os.environ.get("MAX_JOBS", 0)) or len(os.sched_getaffinity(0))
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, files))

    def archive(self, objects):
        """Puts objects into an archive, so that command lines stay short."""
        target = pathlib.Path(self.build_temp).resolve() / "libgzlzss.a"
        target.unlink(missing_ok=True)
        subprocess.run(shlex.split(os.environ.get("AR", "ar")) + ["rc", str(target)] + objects,
                       check=True)
        return str(target)

    def cc(self):
        """The compiler without the flags with which Python was compiled."""
        return shlex.split(os.environ.get("CC", "") or sysconfig.get_config_var("CC"))

    def build_command(self):
        # In `python -m build` and pip, the target folder is not there yet if nothing is compiled.
        target = self.command_file()
        target.parent.mkdir(parents=True, exist_ok=True)
        objects = self.compile(command_files(), str(TOP))
        command = self.cc() + LDFLAGS + shlex.split(os.environ.get("LDFLAGS", "")) + \
            objects + [self.library, "-lz", "-ldl", "-o", str(target)]
        subprocess.run(command, check=True)

    def get_outputs(self):
        return super().get_outputs() + ([] if IS_SYSTEM else [str(self.command_file())])


class WithLibrary(sdist):
    """Adds the library's sources to the sdist."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in library_files() + command_files() + OTHER_FILES:
            target = pathlib.Path(base_dir) / "library" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(TOP / name, target)


def pkg_config(option):
    try:
        words = subprocess.run(["pkg-config", option, "gzlzss"], check=True, stdout=subprocess.PIPE,
                               text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit("setup.py: GZLZSS_SYSTEM is set, but pkg-config finds no gzlzss; is it "
                         "installed, and does PKG_CONFIG_PATH name its folder lib/pkgconfig?")
    return shlex.split(words)


def extension():
    files = sorted(str(file.relative_to(HERE)) for file in (HERE / "src").glob("*.c"))
    options = {
        "sources": files,
        "depends": ["src/core.h", "src/core.map"],
        "extra_compile_args": CFLAGS + ["-Wall", "-Wextra", "-Wno-missing-field-initializers",
                                        "-Wno-cast-function-type"],
        # Only the module's own entry is a global name, so that no other libgzlzss in the process
        # gets between.
        "extra_link_args": LDFLAGS + [f"-Wl,--version-script={HERE}/src/core.map"],
        "py_limited_api": IS_LIMITED,
        "define_macros": [("Py_LIMITED_API", LIMITED)] if IS_LIMITED else [],
    }
    if IS_SYSTEM:
        options["extra_compile_args"] += pkg_config("--cflags")
        options["extra_link_args"] += pkg_config("--libs")
    else:
        options["libraries"] = ["z", "dl"]
    return Extension("gzlzss._core", **options)


# pyproject.toml cannot have the licence: setuptools before 77 wants a table there, which later
# versions will refuse.
setup(
    version=version(),
    license="MIT",
    license_files=["LICENSE"],
    ext_modules=[extension()],
    cmdclass={"build_ext": Builder, "sdist": WithLibrary},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if IS_LIMITED else {},
)
