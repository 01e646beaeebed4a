#!/usr/bin/env python3
"""Confirmations of runs with --scale: `assay compare --confirm` and `assay history --confirm` measure the same part of the table again."""
import json
import os
import subprocess
import sys

from run_helper import ASSAY, BIN, RunTest, main

SCALE = "1/4"


class ConfirmScaled(RunTest):
    def setUp(self):
        super().setUp()
        if not (BIN / "assay-kmeans").exists():
            self.skipTest("assay-kmeans was not built")
        self.words = ["--scale", SCALE, "--max-time", "0.02"]
        self.scaled_suite = self.suite([{"benchmark": "kmeans", "problem": ["n400000d16"], "backend": ["native"], "threads": [1], "part": ["whole"],
                                         "tolerance": 1e-9}])

    def environment(self, **more):
        environment = super().environment(**more)
        environment.pop("ASSAY_PLUGIN_PATH")
        return environment

    def week(self, name, launches):
        self.out = self.folder / "runs" / name
        return self.run_suite(self.scaled_suite, "--launches", launches, *self.words, code=0)

    def expect_scaled(self, folder, launches):
        result = json.loads((folder / "result.json").read_text())
        self.assertEqual(result["run"]["scale"], SCALE)
        for row in self.expect_ok(result["rows"], launches):
            self.assertIn(f"/scale={SCALE}", row["id"])

    def test_compare(self):
        for name in ("base", "new"):
            self.week(name, 5)
        fresh = self.folder / "fresh"
        words = [ASSAY, "compare", self.folder / "runs" / "base", self.folder / "runs" / "new", "--vary", "nothing", "--confirm", fresh,
                 "--format", "json"]
        done = self.command(*words)
        self.assertIn(done.returncode, (0, 4, 5), done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual((document["mismatches"], document["stage"]), ([], "confirmed"))
        for side in ("base", "new"):
            self.expect_scaled(fresh / side, 15)

    def test_history(self):
        """The last run is slow, since it shares its only processor."""
        before = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, before)
        os.sched_setaffinity(0, {min(before)})
        for number in range(8):
            self.week(f"week{number}", 1)
        runs = self.folder / "runs"
        self.command(ASSAY, "history", runs, "--promote", "all", "--owner", "me", "--reason", "release")
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
        try:
            self.week("week9", 1)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        document = json.loads(self.command(ASSAY, "history", runs, "--format", "json").stdout)
        (series,) = document["series"]
        self.assertEqual(series["state"], "suspect", series["reason"])
        done = self.command(ASSAY, "history", runs, "--confirm", BIN.parent, "--format", "json")
        (series,) = json.loads(done.stdout)["series"]
        self.assertIn(series["confirmation"]["answer"], ("noise", "software slower", "machine slower"), series["confirmation"])
        (kept,) = (self.out / "confirm").iterdir()
        for side in ("promoted", "new"):
            self.expect_scaled(kept / side, 15)


if __name__ == "__main__":
    main(verbosity=2)
