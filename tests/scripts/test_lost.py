#!/usr/bin/env python3
"""A number that disappears is a finding, in every command that has seen it before."""
import datetime
import json

from run_helper import ASSAY, BIN, SMALL, RunTest, group, main
import make_results

LOST = "conv/forward/fp32/onednn/direct/mb1c0001/hot/t2"


class LostInARun(RunTest):
    def two_precisions(self):
        return self.suite([group(["direct"], [SMALL], backend="weekly", precision=["fp32", "bf16"], direction=["forward"])])

    def lacking(self, **more):
        return self.environment(WEEKLY_WAIT="0.0001", **more)

    def other_build(self, **settings):
        folder = self.folder / "other" / "bin"
        folder.mkdir(parents=True)
        words = " ".join(f"{name}={value}" for name, value in settings.items())
        (folder / "assay-conv").write_text(f'#!/bin/sh\nexec env {words} {BIN}/assay-conv "$@"\n')
        (folder / "assay-conv").chmod(0o755)
        return folder.parent

    def test_nothing_measured_is_not_success(self):
        done = self.run_suite(self.two_precisions(), "--filter", "bf16", env=self.lacking(WEEKLY_LOST="bf16"), code=6)
        self.assertIn("no row was measured", done.stderr)
        self.out = self.folder / "half"
        self.run_suite(self.two_precisions(), env=self.lacking(WEEKLY_LOST="bf16"), code=0)

    def test_lost_against_a_build(self):
        suite = self.two_precisions()
        done = self.run_suite(suite, "--against", self.other_build(WEEKLY_LOST="none"), env=self.lacking(), code=0)
        self.assertNotIn("lost", done.stdout)
        self.out = self.folder / "lost"
        done = self.run_suite(suite, "--against", self.folder / "other", env=self.lacking(WEEKLY_LOST="bf16"), code=6)
        self.assertRegex(done.stdout, r"lost: \S*bf16\S* .*this version has no bf16")

    def test_lost_against_a_measured_baseline(self):
        suite = self.two_precisions()
        self.run_suite(suite, env=self.lacking(), code=0)
        before, self.out = self.out / "result.json", self.folder / "lost"
        done = self.run_suite(suite, "--baseline", before, env=self.lacking(WEEKLY_LOST="bf16"), code=6)
        self.assertRegex(done.stdout, r"lost: \S*bf16\S*")


class LostInAHistory(RunTest):
    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs"
        for i in range(4):
            self.add_run(i)

    def add_run(self, i, **more):
        started = (datetime.datetime(2026, 1, 5) + datetime.timedelta(weeks=i)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        folder = self.runs / f"run{i:02}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(make_results.document(rows=3, launches=2, seed=1, noise_seed=i,
                                                                             started=started, **more)))

    def history(self, *words, code):
        return self.command(ASSAY, "history", self.runs, *words, code=code)

    def states(self, code):
        return {series["id"]: series["state"] for series in json.loads(self.history("--format", "json", code=code).stdout)["series"]}

    def test_until_it_is_accepted_or_back(self):
        self.add_run(4, statuses={"c0001": "unsupported"})
        self.assertEqual(self.states(6)[LOST], "lost")
        self.assertIn("1 lost", self.history(code=6).stdout)
        words = ["--owner", "me", "--reason", "why"]
        for which in ("all", LOST):
            done = self.history("--promote", which, *words, code=2)
            self.assertIn(LOST, done.stderr)
            self.assertIn("--accept-lost", done.stderr)
        self.assertFalse((self.runs / "anchors.jsonl").exists())
        self.history("--promote", "all", "--accept-lost", *words, code=0)
        lines = [json.loads(line) for line in (self.runs / "anchors.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(line["event"] for line in lines), ["accept-lost", "promote", "promote"])
        self.add_run(5, statuses={"c0001": "unsupported"})
        self.assertNotEqual(self.states(0)[LOST], "lost")  # known, and somebody answers for it
        self.add_run(6)
        self.assertNotEqual(self.states(0)[LOST], "lost")
        self.add_run(7, statuses={"c0001": "unsupported"})
        self.assertEqual(self.states(6)[LOST], "lost", "it was back: what was accepted is over")

    def test_accept_lost_needs_a_decision(self):
        self.assertIn("--promote", self.history("--accept-lost", code=2).stderr)


if __name__ == "__main__":
    main()
