#!/usr/bin/env python3
"""A suite or a problem list that is edited during a run is noticed by every process; a missing schema before anything is timed."""
import json
import shutil
import sys

from run_helper import ASSAY, SOURCE, RunTest, group, main

# Somebody saves another file over the one that the run began with, before its second launch.
EDITOR = """
import os, shutil, sys
if "--launch" in sys.argv and sys.argv[sys.argv.index("--launch") + 1] == "1":
    shutil.copy({new!r}, {old!r})
os.execv(sys.argv[1], sys.argv[1:])
"""
LIST = {"schema": "assay-problems/1", "benchmark": "conv", "name": "edited", "source": "a test", "licence": "none", "whole": "the two of a test",
        "problems": [{"name": "a", "descriptor": "mb1ic8ih8oc8oh8kh3ph1", "repeat": 1},
                     {"name": "b", "descriptor": "mb2ic8ih8oc8oh8kh3ph1", "repeat": 2}]}


class Edited(RunTest):
    def data(self):
        """A copy of the data folder, which a test may change."""
        folder = self.folder / "data"
        for name in ("suites", "results-schema"):
            shutil.copytree(SOURCE / name, folder / name)
        return folder

    def launcher(self, old, new):
        script = self.folder / "launcher.py"
        script.write_text(EDITOR.format(old=str(old), new=str(new)))
        return ["--launcher", f"{sys.executable} {script}"]

    def expect_noticed(self, suite, edited, old_text, words, env=None):
        launcher = self.launcher(edited, self.folder / "edited")
        done = self.run_suite(suite, "--launches", 3, *launcher, env=env, code=2)
        for word in words:
            self.assertIn(word, done.stderr)
        rows = self.journal_rows()
        self.assertEqual({row["launch"] for row in rows}, {0}, "a later launch measured something else under the same hash")
        self.assertFalse((self.out / "result.json").exists())
        # Resumed as it is it is refused too; put back, it goes on.
        self.run_suite(suite, "--resume", "--launches", 3, *launcher, env=env, code=2)
        edited.write_text(old_text)
        (self.folder / "edited").write_text(old_text)
        self.run_suite(suite, "--resume", "--launches", 3, *launcher, env=env, code=0)
        self.assertEqual(len(self.rows()), 3 * len(rows))

    def test_a_suite(self):
        suite = self.suite([group(["direct"], backend="reference")])
        text = suite.read_text()
        document = json.loads(text)
        document["timing"]["max_time"] = 0.03
        (self.folder / "edited").write_text(json.dumps(document))
        self.expect_noticed(suite, suite, text, [str(suite), "has changed since the run began"])

    def test_a_problem_list(self):
        data = self.data()
        file = data / "suites" / "problems" / "conv" / "edited.json"
        file.write_text(json.dumps(LIST))
        suite = self.suite([group(["direct"], ["edited"], backend="reference")])
        other = json.loads(json.dumps(LIST))
        other["problems"][1]["repeat"] = 3  # the same ids, other parts of the whole
        (self.folder / "edited").write_text(json.dumps(other))
        self.expect_noticed(suite, file, json.dumps(LIST), ["has changed since the run began", "problem list"],
                            env=self.environment(ASSAY_DATA_PATH=str(data)))

    def test_a_missing_schema(self):
        suite = self.suite([group(["direct"], backend="reference")])
        for name in ("result", "journal"):
            with self.subTest(name):
                data = self.data()
                (data / "results-schema" / f"{name}.schema.json").unlink()
                done = self.command(ASSAY, "run", suite, "--out", self.out, env=self.environment(ASSAY_DATA_PATH=str(data)), code=2)
                self.assertIn(f"{name}.schema.json", done.stderr)
                self.assertFalse(self.out.exists(), "something was begun")
                shutil.rmtree(data)


if __name__ == "__main__":
    main(verbosity=2)
