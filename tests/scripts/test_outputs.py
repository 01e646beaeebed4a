#!/usr/bin/env python3
"""Outputs never overwrite inputs, results without a journal, or files that are no journals: exit 2, and nothing is touched."""
import json
import os
import pathlib
import re
import shutil

from run_helper import ASSAY, CONV, SMALL, RunTest, group, main

STANDALONE = [CONV, "--problem", SMALL, "--backend", "reference", "--threads", 1, "--max-time", 0.02]


class Outputs(RunTest):
    def setUp(self):
        super().setUp()
        self.result = self.folder / "b.json"
        self.command(*STANDALONE, "--out", self.result, code=0)

    def contents(self):
        return {file: file.read_bytes() for file in self.folder.rglob("*") if file.is_file()}

    def refused(self, *words, says="overwrite an input"):
        before = self.contents()
        done = self.command(*words, code=2, cwd=self.folder)
        self.assertIn(says, done.stderr)
        self.assertEqual(self.contents(), before, "something was touched")

    def test_inputs_of_commands(self):
        os.link(self.result, self.folder / "hard.json")
        os.symlink(self.result, self.folder / "link.json")
        criteria = self.folder / "criteria.json"
        shutil.copy(pathlib.Path(os.environ.get("ASSAY_SOURCE_DIR", ".")) / "suites" / "criteria" / "acceptance.json", criteria)
        (self.folder / "runs" / "one").mkdir(parents=True)
        shutil.copy(self.result, self.folder / "runs" / "one" / "result.json")
        b = "b.json"
        for words in (["table", b, "-o", b], ["table", b, "-o", "hard.json"], ["table", b, "-o", "link.json"],
                      ["table", "--baseline", b, "hard.json", "-o", "b.json"], ["report", b, "-o", b],
                      ["compare", b, b, "--vary", "nothing", "-o", b], ["compare", b, b, "--vary", "nothing", "--flagged", b],
                      ["model", b, "--formula", "log(time) ~ log(flops)", "-o", b], ["accept", b, "--criteria", criteria, "-o", b],
                      ["accept", b, "--criteria", criteria, "--junit", criteria],
                      ["history", "runs", "-o", "runs/one/result.json"], ["history", "runs", "-o", "runs/anchors.jsonl"]):
            with self.subTest(words):
                self.refused(ASSAY, *words)

    def test_a_suite_and_a_plan_of_a_program(self):
        suite = self.suite([group(["direct"], backend="reference")])
        self.refused(CONV, "--suite", suite, "--out", suite)
        plan = self.folder / "plan.json"
        plan.write_text("[]")
        self.refused(CONV, "--suite", suite, "--plan", plan, "--out", plan)
        self.refused(*STANDALONE, "--baseline", self.result, "--out", self.result)

    def test_a_result_without_its_journal(self):
        suite = self.suite([group(["direct"], backend="reference")])
        self.run_suite(suite, code=0)
        (self.out / "journal.jsonl").unlink()
        for more in ([], ["--resume"]):
            self.refused(ASSAY, "run", suite, "--out", self.out, *more, says="without its journal")

    def test_a_file_that_is_no_journal(self):
        for number, text in enumerate(("kept\nthe last line of notes", "notes\n", json.dumps({"a": 1}), json.dumps({"a": 1}, indent=1),
                                       self.result.read_text())):
            with self.subTest(text[:30]):
                file = self.folder / f"notes-{number}"
                file.write_text(text)
                self.refused(*STANDALONE, "--journal", file, says="is not a journal")

    def test_the_inputs_of_a_comparison_are_not_confirmed_into(self):
        runs = self.folder / "runs"
        suite = self.suite([group(["direct"], backend="reference")])
        for name in ("base", "new"):
            self.out = runs / name
            self.run_suite(suite, code=0)
        self.refused(ASSAY, "compare", runs / "base", runs / "new", "--vary", "nothing", "--confirm", runs)

    def test_a_suite_s_name_stays_in_results(self):
        suite = self.suite([group(["direct"], backend="reference")])
        for name in ("../../out", "/tmp/x", "..", "a/b", ".", "x" * 300):
            with self.subTest(name[:20]):
                document = json.loads(suite.read_text())
                document["name"] = name
                suite.write_text(json.dumps(document))
                before = {file for file in self.folder.iterdir()} | {self.folder / "results"}
                done = self.command(ASSAY, "run", suite, cwd=self.folder, code=0)
                (folder,) = (pathlib.Path(line.split("result: ")[1]).parent for line in done.stdout.split("\n") if "result: " in line)
                self.assertEqual(folder.parent, self.folder / "results")
                self.assertEqual({file for file in self.folder.iterdir()} | {self.folder / "results"}, before)

    def test_jobs_of_one_second_have_folders_of_their_own(self):
        """The clock is that of the machine: so many start that some must share a second."""
        import subprocess
        suite = self.suite([group(["direct"], backend="reference")])
        jobs = [subprocess.Popen([ASSAY, "run", str(suite)], cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True) for _ in range(4)]
        said = [job.communicate()[0] for job in jobs]
        self.assertEqual([job.returncode for job in jobs], [0] * 4, said)
        folders = [re.search(r"result: (\S+)", text).group(1) for text in said]
        self.assertEqual(len(set(folders)), 4)
        names = [folder.name for folder in (self.folder / "results").iterdir()]
        self.assertEqual(len(names), 4)

    def test_a_refused_run_leaves_no_folder(self):
        suite = self.suite([group(["direct"], backend="reference")])
        self.command(ASSAY, "run", suite, "--filter", "nothing-has-this-name", cwd=self.folder, code=2)
        self.command(ASSAY, "run", suite, "--against", self.folder, cwd=self.folder, code=2)
        self.assertFalse((self.folder / "results").exists())


if __name__ == "__main__":
    main(verbosity=2)
