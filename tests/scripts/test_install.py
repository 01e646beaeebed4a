#!/usr/bin/env python3
"""An installed tree that was moved has all that the build tree has, and needs nothing of it."""
import os
import pathlib
import re
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
        for what in ("benchmarks", "suites", "problems", "baselines", "launchers", "sites"):
            self.assertEqual(self.listed(self.moved, what), self.listed(BUILD, what))

    def flags(self, *words):
        """The --flags that --help explains."""
        text = self.command(*words, "--help", code=0).stdout
        return {name for line in text.splitlines() if line.startswith("  -") for name in re.findall(r"--[a-z0-9_-]+", line[2:].split(" ")[0])}

    def test_man_pages_and_completions_have_every_flag(self):
        binaries, share = self.moved / "bin", self.moved / "share"
        pages = {file.stem: [binaries / file.name] for file in binaries.iterdir()}
        described = self.command(binaries / "assay", "--help", code=0).stdout.partition("Subcommands:")[2].partition("Examples:")[0]
        commands = re.findall(r"^  (\w+)", described, re.M)
        pages.update({f"assay-{command}": [binaries / "assay", command] for command in commands if command != "help"})
        self.assertGreater(len(pages), 14)
        for page, words in pages.items():
            with self.subTest(page):
                flags = self.flags(*words)
                self.assertIn("--help", flags)
                text = (share / "man" / "man1" / f"{page}.1").read_text().replace("\\-", "-")
                completion = (share / "bash-completion" / "completions" / words[0].name).read_text()
                if len(words) > 1:
                    (completion,) = re.findall(rf"^    {words[1]}\)\n(.*?)^      ;;$", completion, re.M | re.S)[:1]
                for flag in flags:
                    self.assertIn(f"\\fB{flag}\\fR", text)
                    self.assertRegex(completion, rf"[ \"]{flag}[ \"]")

    def completed(self, *words):
        """The proposals of the shell for the last of these words."""
        script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); $(complete -p "$1" | sed "s/.*-F //;s/ .*//"); echo "${COMPREPLY[@]}"'
        file = self.moved / "share" / "bash-completion" / "completions" / words[0]
        return self.command("bash", "-c", script, file, *words, code=0).stdout.split()

    def test_completions_in_bash(self):
        self.assertEqual(self.completed("assay", "ru"), ["run"])
        self.assertEqual(self.completed("assay", "run", "--launc"), ["--launcher", "--launches"])
        self.assertEqual(self.completed("assay", "list", "back"), ["backends"])
        self.assertEqual(self.completed("assay", "compare", "--vary", "soft"), ["software"])
        self.assertEqual(self.completed("assay-conv", "--direction", "forw"), ["forward"])
        self.assertEqual(self.completed("assay-conv", "--out", "x"), [])  # the shell proposes files

    def test_nothing_points_back(self):
        for file in self.moved.rglob("*"):
            if file.is_symlink():
                self.assertTrue(file.resolve().is_relative_to(self.moved.resolve()), f"{file} -> {os.readlink(file)}")
                self.assertTrue(file.exists(), f"{file} -> {os.readlink(file)}")
        # Libraries from .deps are loaded from the tree itself, by the name that the plugins ask for.
        for plugin in (self.moved / "lib" / "assay").iterdir():
            told = subprocess.run(["ldd", plugin], text=True, capture_output=True, check=True).stdout
            for line in told.splitlines():
                place = line.partition("=> ")[2].partition(" (")[0]
                if place.startswith("/"):
                    self.assertFalse(pathlib.Path(place).resolve().is_relative_to(BUILD.resolve().parent), f"{plugin}: {line}")
                self.assertNotIn("not found", line, plugin)


if __name__ == "__main__":
    main()
