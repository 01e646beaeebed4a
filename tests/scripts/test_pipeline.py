#!/usr/bin/env python3
"""A weekly pipeline from end to end: `assay run --guard`, `assay history --confirm`; which weeks fail, and in which run.

The clock of the backend `weekly` is a model, so that 10 % are 10 % however loaded the machine is; all else is as it is anywhere."""
import json
import shlex
import shutil
import xml.etree.ElementTree

from run_helper import ASSAY, BIN, SMALL, SOURCE, RunTest, group, main


class Pipeline(RunTest):
    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs"
        self.week = 0

    def build(self, name, **settings):
        """An installation of its own: its assay, and benchmarks that know the build's faults."""
        programs = self.folder / name / "bin"
        programs.mkdir(parents=True)
        shutil.copy(BIN / "assay", programs / "assay")
        (self.folder / name / "lib").symlink_to(BIN.parent / "lib")
        (self.folder / name / "share").mkdir()
        (self.folder / name / "share" / "assay").symlink_to(SOURCE)
        words = " ".join(f"{key}={shlex.quote(str(value))}" for key, value in settings.items())
        (programs / "assay-conv").write_text(f'#!/bin/sh\nexec env {words} {BIN}/assay-conv "$@"\n')
        (programs / "assay-conv").chmod(0o755)
        return self.folder / name

    def suite_of(self, *precisions):
        return self.suite([group(["direct"], [SMALL], backend="weekly", precision=list(precisions), direction=["forward"])],
                          name="weekly", tolerance=0.05)

    def run_week(self, build, suite, code, launches=3, words=("--guard",), **settings):
        self.week += 1
        self.out = self.runs / f"week{self.week:02}"
        words = [*words, self.runs] if words else []
        return self.command(build / "bin" / "assay", "run", suite, "--out", self.out, "--launches", launches, *words,
                            env=self.environment(WEEKLY_WAIT="0.01", **settings), code=code)

    def promote(self, build):
        done = self.command(build / "bin" / "assay", "history", self.runs, "--promote", "all", "--owner", "me", "--reason", "release",
                            code=0)
        self.assertNotIn("do not record a build", done.stderr)

    def answers(self):
        document = json.loads((self.out / "history.json").read_text())
        return {series["id"].split("/")[2]: (series["state"], series.get("confirmation", {}).get("answer")) for series in document["series"]}

    def junit(self):
        """Failures and errors by row; each row is a testcase."""
        cases = list(xml.etree.ElementTree.parse(self.out / "junit.xml").getroot().iter("testcase"))
        self.assertEqual({case.get("name") for case in cases}, {row["id"] for row in self.rows()})
        return {case.get("name").split("/")[2]: (part.tag, part.get("type")) for case in cases for part in case}

    def test_only_what_is_wrong_fails_and_in_its_run(self):
        good, slow = self.build("good"), self.build("slow", WEEKLY_SLOWER="1.1")
        lacking = self.build("lacking", WEEKLY_LOST="bf16")
        suite = self.suite_of("fp32", "bf16")
        for week in range(1, 9):
            done = self.run_week(good, suite, code=0)
            if week < 8:
                self.assertIn(f"2 of 2 series are too short to be judged: {week} of 8 runs", done.stdout)
        self.promote(good)
        self.run_week(good, suite, code=0, WEEKLY_DISTURBED="1.5")
        self.assertEqual(self.answers(), {"fp32": ("suspect", "noise"), "bf16": ("suspect", "noise")})
        self.assertEqual(self.junit(), {})
        self.run_week(good, suite, code=0)
        done = self.run_week(slow, suite, code=4)
        self.assertEqual(self.answers(), {"fp32": ("suspect", "software slower"), "bf16": ("suspect", "software slower")})
        self.assertEqual(self.junit(), {"fp32": ("failure", "software slower"), "bf16": ("failure", "software slower")})
        self.assertRegex(done.stdout, r"guard: \S*fp32\S*: suspect: the last run takes \d+\.\d % longer than the promoted level[^()]* \(tolerance 5 %\)")
        self.assertRegex(done.stdout, r"guard: \S*fp32\S*: software slower: the new build takes \d+\.\d % longer than the promoted build")
        self.command(ASSAY, "validate", self.out / "history.json", code=0)
        self.assertIn("suspect: software slower", self.command(ASSAY, "history", self.runs, code=4).stdout)
        # Asked again later, with the promoted build named: the launches are there already.
        again = [slow / "bin" / "assay", "history", self.runs, "--confirm"]
        self.assertIn("software slower", self.command(*again, good, code=4).stdout)
        self.assertIn("software slower", self.command(*again, good / "bin" / "assay", code=4).stdout)
        self.assertEqual(len(list((self.out / "confirm").iterdir())), 1)
        refused = self.command(good / "bin" / "assay", "history", self.runs, "--confirm", good, code=2)
        self.assertIn("use the assay of that build", refused.stderr)
        self.run_week(good, suite, code=0)
        done = self.run_week(lacking, suite, code=6)
        self.assertEqual(self.answers()["bf16"], ("lost", None))
        self.assertEqual(self.junit(), {"bf16": ("failure", "lost")})
        self.assertRegex(done.stdout, r"guard: \S*bf16\S*: lost: .*this version has no bf16")
        self.run_week(good, suite, code=0)
        self.assertEqual(self.week, 14)

    def test_what_cannot_be_confirmed(self):
        good, suite = self.build("good"), self.suite_of("fp32")
        for _ in range(8):
            self.run_week(good, suite, code=0, launches=1)
        slower = {"launches": 1, "WEEKLY_SLOWER": "2"}
        self.run_week(good, suite, code=8, **slower)
        self.assertEqual(self.answers()["fp32"], ("suspect", "unconfirmed"), "nobody promoted")
        self.assertEqual(self.junit(), {"fp32": ("error", "unconfirmed")})
        shutil.rmtree(self.out)
        self.promote(good)
        self.run_week(good, suite, code=4, **slower)  # both builds are: it is not the software
        self.assertEqual(self.answers()["fp32"], ("suspect", "machine slower"))
        shutil.rmtree(self.out)
        done = self.run_week(good, suite, code=8, OMP_WAIT_POLICY="active", **slower)
        self.assertRegex(done.stdout, "loads other software than when it was promoted "
                         r"\(/switches/OMP_WAIT_POLICY was (absent|passive), now it is active\)")
        shutil.rmtree(self.out)
        other = self.build("other", WEEKLY_SLOWER="2")
        program = good / "bin" / "assay-conv"
        program.write_text(program.read_text() + "# built anew\n")
        done = self.run_week(other, suite, code=8, launches=1)
        self.assertIn("unconfirmed: ", done.stdout)
        self.assertIn("is not the promoted build any more", done.stdout)
        shutil.rmtree(self.out)
        shutil.rmtree(good)
        done = self.run_week(other, suite, code=8, launches=1)
        self.assertIn("the promoted installation is missing", done.stdout)
        self.assertFalse((self.out / "confirm").exists(), "nothing was launched")
        refused = self.command(other / "bin" / "assay", "history", self.runs, "--confirm", good, code=2)
        self.assertIn("is not a build of Assay", refused.stderr)
        self.assertIn("--confirm", self.command(ASSAY, "history", self.runs, "--launcher", "x", code=2).stderr)


if __name__ == "__main__":
    main(verbosity=2)
