#!/usr/bin/env python3
"""An installed tree that was moved has all that the build tree has, and needs nothing of it."""
import os
import pathlib
import shutil
import subprocess

from run_helper import BUILD, RunTest, main


class Install(RunTest):
    def setUp(self):
        super().setUp()
        made, self.moved = self.folder / "made", self.folder / "moved" / "assay"
        self.command(shutil.which("cmake"), "--install", BUILD, "--prefix", made, code=0)
        self.moved.parent.mkdir()
        made.rename(self.moved)

    def listed(self, tree, what):
        """Lines of `assay list`, without the tree's own path."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        text = self.command(tree / "bin" / "assay", "list", what, env=environment, code=0).stdout
        return [" ".join(line.replace(str(tree), "TREE").split()) for line in text.splitlines() if line.strip("- ")]

    def test_a_moved_tree_has_every_backend(self):
        built, moved = self.listed(BUILD, "backends"), self.listed(self.moved, "backends")
        self.assertGreater(len(built), 2)
        self.assertEqual(moved, built)
        for what in ("benchmarks", "suites", "problems", "baselines"):
            self.assertEqual(self.listed(self.moved, what), self.listed(BUILD, what))

    def test_nothing_points_back(self):
        for file in self.moved.rglob("*"):
            if file.is_symlink():
                self.assertTrue(file.resolve().is_relative_to(self.moved.resolve()), f"{file} -> {os.readlink(file)}")
                self.assertTrue(file.exists(), f"{file} -> {os.readlink(file)}")
        # What came from .deps is loaded from the tree itself, by the name that the plugins ask for.
        for plugin in (self.moved / "lib" / "assay").iterdir():
            told = subprocess.run(["ldd", plugin], text=True, capture_output=True, check=True).stdout
            for line in told.splitlines():
                place = line.partition("=> ")[2].partition(" (")[0]
                if place.startswith("/"):
                    self.assertFalse(pathlib.Path(place).resolve().is_relative_to(BUILD.resolve().parent), f"{plugin}: {line}")
                self.assertNotIn("not found", line, plugin)


if __name__ == "__main__":
    main()
