# not run: no Spack was at hand. `python3 -m py_compile` and tests/scripts/test_packaging.py check its syntax and that its dependencies
# are those of scripts/packages.txt.
#
# Put this file into packages/assay/package.py of a Spack repository, or `spack repo add` a folder that has it there.
from spack.package import *


class Assay(CMakePackage):
    """Benchmark suite for deep learning on HPC machines: verified kernels, collectives, training, and acceptance of fleets."""

    license("Apache-2.0")

    # Until there is a release: spack dev-build assay@main, in a clone.
    version("main")

    variant("mpi", default=True, description="Transports over MPI")
    variant("gloo", default=False, description="Transport over Gloo")
    variant("images", default=True, description="Readers of JPEG, PNG and TFRecord files")
    variant("cuda", default=False, description="Backend for NVIDIA GPUs, and NCCL")

    conflicts("%gcc@:11", msg="C++20 as of g++ 12")
    conflicts("%clang@:13", msg="C++20 as of clang 14")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconf", type="build")
    depends_on("git", type="build")
    depends_on("python@3:", type=("build", "run"))
    depends_on("nlohmann-json")
    depends_on("fmt")
    depends_on("cli11")
    depends_on("benchmark")
    depends_on("valijson")
    depends_on("hwloc")
    depends_on("eigen")
    depends_on("boost")
    depends_on("random123")
    depends_on("highway")
    depends_on("re2")
    depends_on("simdjson")
    depends_on("onednn@3.2:")
    depends_on("openblas", type="run")
    depends_on("googletest", type="test")
    depends_on("mpi", when="+mpi")
    depends_on("gloo", when="+gloo")
    depends_on("libjpeg-turbo", when="+images")
    depends_on("libpng", when="+images")
    depends_on("protobuf", when="+images")
    depends_on("isa-l", when="+images")
    depends_on("cuda@12:", when="+cuda")
    depends_on("cudnn", when="+cuda")
    depends_on("nccl", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("ASSAY_ONEDNN", "ON"),
            self.define("ASSAY_MPI", "ON" if "+mpi" in self.spec else "OFF"),
            self.define("ASSAY_GLOO", "ON" if "+gloo" in self.spec else "OFF"),
            self.define("ASSAY_IMAGES", "ON" if "+images" in self.spec else "OFF"),
            self.define("ASSAY_CUDA", "ON" if "+cuda" in self.spec else "OFF"),
            self.define("ASSAY_NCCL", "ON" if "+cuda" in self.spec else "OFF"),
        ]

    def setup_run_environment(self, env):
        env.prepend_path("PATH", self.prefix.bin)
