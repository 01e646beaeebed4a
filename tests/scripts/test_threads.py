#!/usr/bin/env python3
"""The threads in a row are those that ran, whatever OpenMP's environment says."""
import json

from run_helper import CONV, SMALL, RunTest, main


class Threads(RunTest):
    def row(self, code=0, **environment):
        file = self.folder / "result.json"
        self.command(CONV, "--problem", SMALL, "--backend", "reference", "--threads", 2, "--max-time", 0.02, "--out", file,
                     env=self.environment(**environment), code=code)
        return json.loads(file.read_text())["rows"][0]

    def test_as_asked(self):
        row = self.row()
        self.assertEqual((row["status"], row["executed"]["threads"], row["parameters"]["threads"]), ("ok", 2, 2))

    def test_a_limit_is_told(self):
        row = self.row(code=6, OMP_THREAD_LIMIT="1")  # no row was measured
        self.assertEqual(row["status"], "unsupported")
        self.assertEqual(row["reason"], "2 threads were asked for, OpenMP gives 1 (OMP_THREAD_LIMIT=1). Unset it or ask for fewer.")

    def test_dynamic_teams_are_overruled(self):
        row = self.row(OMP_DYNAMIC="true")
        self.assertEqual((row["status"], row["executed"]["threads"]), ("ok", 2))

    def test_teams_of_filling_and_checking_are_limited(self):
        # 100000 threads do not fit the stack of libgomp (SIGSEGV), 32768 cannot be created (exit code 1).
        for count in ("100000", "32768", "100000,100000"):
            row = self.row(OMP_NUM_THREADS=count)
            self.assertEqual((row["status"], row["executed"]["threads"]), ("ok", 2))
        row = self.row(OMP_NUM_THREADS="100000", OMP_THREAD_LIMIT="2")
        self.assertEqual((row["status"], row["executed"]["threads"]), ("ok", 2))


if __name__ == "__main__":
    main(verbosity=2)
