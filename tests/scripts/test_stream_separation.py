#!/usr/bin/env python3
"""stdout is for results, stderr for talk: a script can read the one and a person the other."""
import json

from run_helper import ASSAY, CONV, SMALL, RunTest, group, main


class Streams(RunTest):
    def test_run(self):
        done = self.run_suite(self.suite([group(["direct"])]), code=0)
        self.assertTrue(done.stdout.rstrip().endswith(f"result: {self.out / 'result.json'}"), done.stdout)
        self.assertIn("1 ok", done.stdout)
        self.assertNotIn("[1/1]", done.stdout)
        self.assertRegex(done.stderr, r"\[1/1\] conv/forward/fp32/faulty/direct/.* [mµn]?s!? \((±\d+\.\d %|n=\d+, no interval)\)")
        self.assertNotIn("result:", done.stderr)

    def test_children_are_kept_apart(self):
        self.run_suite(self.suite([group(["direct"])]), code=0)
        self.assertIn(SMALL.replace("oh8", "oh8"), (self.out / "log" / "0-0-conv.out.txt").read_text())
        # Nothing is said but where a case's part of the log ends (core/result/journal.hpp).
        self.assertRegex((self.out / "log" / "0-0-conv.err.txt").read_text(), r"\Aend of conv/\S+/direct/\S+\x1e\n\Z")

    def test_machine_readable_outputs(self):
        done = self.command(ASSAY, "env", code=0)
        self.assertIn("hashes", json.loads(done.stdout))
        done = self.command(CONV, "--problem", SMALL, "--backend", "reference", "--list", "--json", code=0)
        self.assertEqual(len(json.loads(done.stdout)), 1)
        self.assertEqual(done.stderr, "")
        done = self.command(CONV, "--problem", SMALL, "--backend", "reference", "--list", code=0)
        self.assertEqual(len(done.stdout.splitlines()), 1)

    def test_table(self):
        self.run_suite(self.suite([group(["direct", "wrong_element"])]), code=3)
        for form in ("terminal", "markdown"):
            done = self.command(ASSAY, "table", self.out, "--format", form, code=0)
            self.assertEqual(done.stderr, "")
            wrong = [line for line in done.stdout.splitlines() if "incorrect: " in line]
            self.assertEqual(len(wrong), 1)
            self.assertNotRegex(wrong[0].split("incorrect: ")[0], r"\d (ns|µs|ms|s)\b", "a number beside an incorrect row")
            self.assertNotIn("FLOP/s", wrong[0])

    def test_errors_leave_stdout_empty(self):
        for words in ([ASSAY, "table", self.folder / "none"], [ASSAY, "run", "no-such-suite"], [CONV, "--backend", "no-such"]):
            done = self.command(*words, code=2)
            self.assertEqual(done.stdout, "")
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("assay"), done.stderr)


if __name__ == "__main__":
    main(verbosity=2)
