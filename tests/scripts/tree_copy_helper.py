"""A copy of the source tree to which a test adds files, and builds of it."""
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from run_helper import BUILD, SOURCE, RunTest

THROWAWAY = SOURCE / "tests" / "throwaway"
REUSE = pathlib.Path(__file__).with_name("reuse_object.py")
PARTS = ("core", "formulas", "support", "kernels", "analysis", "runner", "cli", "cmake", "suites", "results-schema", "CMakeLists.txt")


class TreeCopyTest(RunTest):
    parts = PARTS

    def setUp(self):
        super().setUp()
        self.tree = self.folder / "tree"
        self.tree.mkdir()
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

    def known_objects(self):
        """The way in which the build under test has made its objects, for reuse_object.py: command and dependencies of
        each that is up to date."""
        commands, compiler = {}, self.cached("CMAKE_CXX_COMPILER")
        for made in json.loads((BUILD / "compile_commands.json").read_text()):
            words = shlex.split(made["command"])
            if compiler in words and "-o" in words:
                words = words[words.index(compiler) + 1:]  # a cache may come before it
                commands[words[words.index("-o") + 1]] = words
        objects = {}
        if (BUILD / ".ninja_deps").exists():  # only Ninja tells
            for block in self.step("ninja", "-C", BUILD, "-t", "deps").strip().split("\n\n"):
                head, *dependencies = block.splitlines()
                found = re.fullmatch(r"(\S+): #deps \d+, deps mtime \d+ \(VALID\)", head)
                if found and found.group(1) in commands:
                    objects[found.group(1)] = {"command": commands[found.group(1)], "dependencies": [line.strip() for line in dependencies]}
        file = self.folder / "known.json"
        file.write_text(json.dumps({"folders": [[str(BUILD), str(self.tree / "build")], [str(SOURCE), str(self.tree)]], "objects": objects}))
        return file

    def build(self, *targets):
        """The folder of the programs, what configuring has said, and the objects that were compiled, not those of the build under test."""
        build = self.tree / "build"
        launcher = [sys.executable, REUSE, self.known_objects()]
        # The vendors' backends are left out: the test proves the adding. All else as in the build under test, whose
        # objects are then reused.
        same = ("CMAKE_BUILD_TYPE", "CMAKE_CXX_COMPILER", "CMAKE_CXX_FLAGS", "CMAKE_PREFIX_PATH", "CMAKE_UNITY_BUILD")
        said = self.step("cmake", "-G", "Ninja", "-S", self.tree, "-B", build, *(f"-D{name}={self.cached(name)}" for name in same),
                         "-DBUILD_TESTING=OFF", "-DASSAY_ONEDNN=OFF", "-DASSAY_CUDA=OFF",
                         f"-DCMAKE_CXX_COMPILER_LAUNCHER={';'.join(map(str, launcher))}")
        built = self.step("cmake", "--build", build, "--parallel", len(os.sched_getaffinity(0)), "--target", *targets)
        return build / "bin", said, re.findall(r"(?m)^compiles (\S+)", built)

    def environment_of_copy(self):
        return {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
