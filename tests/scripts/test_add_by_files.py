#!/usr/bin/env python3
"""A backend, a kernel and a suite are added to a copy of the tree by files alone: no existing file is edited."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

from run_helper import BUILD, SOURCE, RunTest, main

THROWAWAY = SOURCE / "tests" / "throwaway"
PARTS = ("core", "support", "kernels", "analysis", "cmake", "suites", "results-schema", "CMakeLists.txt")


def hashes(root):
    return {str(file.relative_to(root)): hashlib.sha256(file.read_bytes()).hexdigest()
            for part in PARTS for file in ([root / part] if (root / part).is_file() else sorted((root / part).rglob("*")))
            if file.is_file() and "__pycache__" not in file.parts}


class AddByFiles(RunTest):
    def setUp(self):
        super().setUp()
        # As deep as the tree under test: a compiler cache tells system headers apart by their relative paths.
        levels = len(BUILD.resolve().parts) - 1 - len(self.folder.resolve().parts)
        self.tree = self.folder.joinpath(*["tree"] * levels)
        self.tree.mkdir(parents=True, exist_ok=True)
        for part in PARTS:
            if (SOURCE / part).is_dir():
                shutil.copytree(SOURCE / part, self.tree / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(SOURCE / part, self.tree / part)

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

    def test_backend_kernel_and_suite(self):
        before = hashes(self.tree)
        for part in ("backend", "kernel", "suite"):
            shutil.copytree(THROWAWAY / part, self.tree, dirs_exist_ok=True)
        after = hashes(self.tree)
        self.assertEqual({name: after[name] for name in before}, before, "an existing file was edited")
        self.assertEqual(sorted(after.keys() - before.keys()),
                         ["kernels/axpy/main.cpp", "kernels/axpy/problem.hpp", "kernels/reference/axpy.cpp",
                          "kernels/throwaway/CMakeLists.txt", "kernels/throwaway/backend.cpp", "suites/throwaway.json"])
        build = self.tree / "build"  # relative to the sources it lies where the build under test does, as the cache compares
        # Without the vendors' backends: what is proved is the adding.
        said = self.step("cmake", "-G", "Ninja", "-S", self.tree, "-B", build, *self.cheapest_flags(), "-DCMAKE_UNITY_BUILD=ON",
                         "-DBUILD_TESTING=OFF", "-DASSAY_ONEDNN=OFF", "-DASSAY_CUDA=OFF",
                         f"-DCMAKE_PREFIX_PATH={self.cached('CMAKE_PREFIX_PATH')}",
                         f"-DCMAKE_CXX_COMPILER={self.cached('CMAKE_CXX_COMPILER')}")
        self.assertIn("backend throwaway: built", said)
        self.step("cmake", "--build", build, "--parallel", len(os.sched_getaffinity(0)), "--target", "assay", "assay-conv",
                  "assay-axpy", "assay_backend_reference", "assay_backend_throwaway")
        programs = build / "bin"
        env = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        shown = self.command(programs / "assay", "list", "backends", env=env, code=0).stdout
        self.assertRegex(shown, "throwaway +available")
        self.assertIn("axpy", self.command(programs / "assay", "list", "benchmarks", env=env, code=0).stdout)
        self.assertIn("A suite added by one file", self.command(programs / "assay", "list", "suites", env=env, code=0).stdout)
        done = self.command(programs / "assay", "run", "throwaway", "--out", self.out, env=env, code=0)
        # Hot alone: behind a last cache of 480 MiB (a small virtual machine on a large host) cold rotates through 1 GB.
        self.assertIn("6 ok", done.stdout)
        rows = self.rows()
        self.assertEqual(len(rows), 6)
        self.assertTrue(all(row["verification"]["passed"] for row in rows))
        ids = {row["id"] for row in rows}
        self.assertTrue(any(id.startswith("axpy/fp64/reference/n100000/hot") for id in ids), ids)
        self.assertTrue(any("/throwaway/" in id for id in ids), ids)
        software = [environment["software"] for environment in json.loads((self.out / "result.json").read_text())["environments"]]
        self.assertTrue(any("throwaway" in json.dumps(one) for one in software))
        self.command(programs / "assay", "validate", self.out / "result.json", env=env, code=0)


if __name__ == "__main__":
    main(verbosity=2)
