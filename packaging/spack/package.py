# package.py - Spack's recipe for gzlzss
#
#     spack repo create REPO && mkdir -p REPO/packages/gzlzss
#     cp packaging/spack/package.py REPO/packages/gzlzss && spack repo add REPO
#     spack install gzlzss +mpi +cuda cuda_arch=90
#
# In a checkout, `spack dev-build gzlzss@main` builds what is there. Fill in the addresses. A release
# is a line with its tarball's checksum, which `make release` prints: version("1.2.3", sha256="...").
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.python import PythonPipBuilder

from spack.package import *


class Gzlzss(AutotoolsPackage, CudaPackage):
    """Drop-in replacement for gzip that uses all cores, NVIDIA GPUs, and, with MPI, many machines.
    The output depends only on the input and the options."""

    homepage = "https://example.org/gzlzss"
    url = "https://example.org/gzlzss-0.3.0.tar.gz"
    git = "https://example.org/gzlzss.git"

    license("MIT")

    version("main", branch="main")

    variant("mpi", default=False, description="Build gzlzss-mpi, the command for many machines")
    variant("isal", default=True, description="Use ISA-L for CRC-32 and decompression")
    variant("papers", default=False, description="Build the match finders of papers (--matcher)")
    variant("python", default=False, description="Build the Python package")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("gmake", type="build")
    # A tarball has configure.
    with when("@main"):
        depends_on("autoconf@2.71:", type="build")
        depends_on("automake@1.16:", type="build")
        depends_on("libtool", type="build")
        depends_on("m4", type="build")
    depends_on("zlib-api")
    # It is loaded at run time, from the directories with which the programs are linked.
    depends_on("isa-l", when="+isal")
    depends_on("mpi", when="+mpi")

    extends("python", when="+python")
    with when("+python"):
        depends_on("python@3.9:", type=("build", "link", "run"))
        depends_on("py-pip", type="build")
        depends_on("py-setuptools@61:", type="build")
        depends_on("py-wheel", type="build")
        depends_on("pkgconfig", type="build")

    def setup_build_environment(self, env):
        # install_python needs both.
        env.set("GZLZSS_SYSTEM", "1")
        env.prepend_path("PKG_CONFIG_PATH", self.prefix.lib.pkgconfig)

    def configure_args(self):
        args = self.enable_or_disable("papers") + self.with_or_without("isal")
        if self.spec.satisfies("+mpi"):
            args.append(f"--with-mpi={self.spec['mpi'].mpicc}")
        if self.spec.satisfies("~cuda"):
            return args + ["--without-cuda"]
        args.append(f"--with-cuda={self.spec['cuda'].prefix}")
        archs = [arch for arch in self.spec.variants["cuda_arch"].value if arch != "none"]
        if archs:
            args.append(f"CUDA_ARCHS={' '.join(archs)}")
        return args

    def check(self):
        with working_dir(self.build_directory):
            make("check-quick")

    @run_after("install")
    def install_python(self):
        """Compiles the Python package with the library that was just installed."""
        if self.spec.satisfies("+python"):
            with working_dir("python"):
                python("-m", "pip", *PythonPipBuilder.std_args(self), f"--prefix={self.prefix}", ".")

    def test_round_trip(self):
        """gzlzss compresses and decompresses its own program"""
        gzlzss = which(self.prefix.bin.gzlzss)
        gzlzss("-k", "-c", self.prefix.bin.gzlzss, output="program.gz")
        gzlzss("-t", "program.gz")
