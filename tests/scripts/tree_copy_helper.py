"""A copy of the source tree to which a test adds files, and builds of it."""
import hashlib
import os
import shutil
import subprocess

from run_helper import BUILD, SOURCE, RunTest

THROWAWAY = SOURCE / "tests" / "throwaway"
PARTS = ("core", "support", "kernels", "analysis", "runner", "cli", "cmake", "suites", "results-schema", "CMakeLists.txt")


class TreeCopyTest(RunTest):
    parts = PARTS

    def setUp(self):
        super().setUp()
        # As deep as the tree under test: a compiler cache tells system headers apart by their relative paths.
        levels = len(BUILD.resolve().parts) - 1 - len(self.folder.resolve().parts)
        self.tree = self.folder.joinpath(*["tree"] * levels)
        self.tree.mkdir(parents=True, exist_ok=True)
        for part in self.parts:
            if (SOURCE / part).is_dir():
                shutil.copytree(SOURCE / part, self.tree / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(SOURCE / part, self.tree / part)

    def hashes(self):
        return {str(file.relative_to(self.tree)): hashlib.sha256(file.read_bytes()).hexdigest() for part in self.parts
                for file in ([self.tree / part] if (self.tree / part).is_file() else sorted((self.tree / part).rglob("*")))
                if file.is_file() and "__pycache__" not in file.parts}

    def add(self, parts, expected):
        """Lays `parts` of tests/throwaway over the copy: they are `expected`, new files alone."""
        before = self.hashes()
        for part in parts:
            shutil.copytree(THROWAWAY / part, self.tree, dirs_exist_ok=True)
        after = self.hashes()
        self.assertEqual({name: after[name] for name in before}, before, "an existing file was edited")
        self.assertEqual(sorted(after.keys() - before.keys()), expected)

    def step(self, *words):
        done = subprocess.run([str(w) for w in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout[-6000:]}")
        return done.stdout

    def cached(self, name):
        for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return line.split("=", 1)[1]
        return ""

    def cheapest_flags(self):
        """Those of the build under test where a compiler cache that does not tell folders apart has its objects; else not optimised."""
        cache = self.cached("CCACHE_PROGRAM")
        if os.access(cache, os.X_OK) and self.step(cache, "--get-config", "base_dir").strip():
            return [f"-D{name}={self.cached(name)}" for name in ("CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS")]
        return ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]

    def build(self, *targets):
        """The folder of the programs, and what configuring has said."""
        build = self.tree / "build"  # relative to the sources it lies where the build under test does, as the cache compares
        # Without the vendors' backends: what is proved is the adding.
        said = self.step("cmake", "-G", "Ninja", "-S", self.tree, "-B", build, *self.cheapest_flags(), "-DCMAKE_UNITY_BUILD=ON",
                         "-DBUILD_TESTING=OFF", "-DASSAY_ONEDNN=OFF", "-DASSAY_CUDA=OFF",
                         f"-DCMAKE_PREFIX_PATH={self.cached('CMAKE_PREFIX_PATH')}",
                         f"-DCMAKE_CXX_COMPILER={self.cached('CMAKE_CXX_COMPILER')}")
        self.step("cmake", "--build", build, "--parallel", len(os.sched_getaffinity(0)), "--target", *targets)
        return build / "bin", said

    def environment_of_copy(self):
        return {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
