#!/usr/bin/env python3
"""assay run measures the machine's ceilings around the cases, anew in each session, and never fails for want of one."""
import json
import shutil

from run_helper import BIN, BUILD, RunTest, group, main


class Ceilings(RunTest):
    def brackets(self):
        return json.loads((self.out / "result.json").read_text())["run"].get("bracket", [])

    def small(self, *algorithms, **more):
        return self.suite([group(algorithms or ["direct"], backend="reference", precision=["fp32"])], ceilings=True, **more)

    def test_every_row_has_its_ceiling(self):
        done = self.run_suite(self.small(), "--launches", 2, code=0)
        self.check_file()
        self.assertIn("assay run: measuring the machine's ceilings\n", done.stderr)
        brackets = self.brackets()
        self.assertGreaterEqual(len(brackets), 2, "before and after")
        for bracket in brackets:
            self.assertIsNone(bracket["reason"])
            kernels = {row["problem"]["descriptor"].split("_")[0]: row for row in bracket["rows"]}
            self.assertEqual(set(kernels), {"fma", "read"}, "what the cases need, and nothing of memory")
            for row in bracket["rows"]:
                self.assertIn(row["status"], ("ok", "unsupported"), row["reason"])
                self.assertEqual(row["parameters"]["threads"], 1)
        supported = all(row["status"] == "ok" for row in brackets[0]["rows"])
        for row in self.rows():
            if supported:
                self.assertGreater(row["ceiling"]["flops_per_s"], 0, row["ceiling_reason"])
                self.assertEqual(row["ceiling"]["bound_by"], "compute")
                self.assertEqual(row["ceiling"]["level"], "L1", "the data fit every cache")
                self.assertIsNone(row["ceiling_reason"])
                self.assertEqual(len(row["ceiling"]["brackets"]), 2)
        if supported:
            self.assertIn("of ceiling", done.stdout)

    def test_switched_off(self):
        self.run_suite(self.small(), "--no-ceilings", code=0)
        self.assertEqual(self.brackets(), [])
        self.assertIn("switched off", self.rows()[0]["ceiling_reason"])

    def test_no_run_fails_for_want_of_one(self):
        # An installation without assay-stream.
        there = self.folder / "other"
        shutil.copytree(BUILD / "lib", there / "lib", symlinks=True)
        shutil.copytree(BUILD / "share", there / "share", symlinks=True)
        (there / "bin").mkdir()
        for name in ("assay", "assay-conv"):
            shutil.copy(BIN / name, there / "bin" / name)
        for folder in ("suites", "results-schema"):
            link = there / "share" / "assay" / folder
            target = (BUILD / "share" / "assay" / folder).resolve()
            link.unlink()
            link.symlink_to(target)
        done = self.command(there / "bin" / "assay", "run", self.small(), "--out", self.out, code=0)
        self.assertIn("no assay-stream", done.stderr)
        self.assertIn("no assay-stream", self.rows()[0]["ceiling_reason"])
        self.assertIsNone(self.rows()[0]["ceiling"])
        self.check_file()

    def test_a_resumed_run_measures_again(self):
        both = self.suite([group(["direct"], backend="reference", precision=["fp32"]),
                           group(["hang"], precision=["fp32"])], name="hanging", ceilings=True)
        process = self.start_suite(both, "--timeout", 100, env=self.environment())
        self.wait_until(lambda: any(event["event"] == "begin" and "hang" in event["id"] for event in self.journal()), process)
        process.terminate()
        process.wait()
        self.assertEqual([e["event"] for e in self.journal()].count("bracket"), 1)
        self.command(str(BIN / "assay"), "run", both, "--out", self.out, "--resume",
                     env=self.environment(ASSAY_FAULT_OFF="1"), code=0)
        self.check_file()
        self.assertEqual(len(self.brackets()), 3)
        around = {("hang" in row["id"]): row["ceiling"]["brackets"] for row in self.rows() if row["ceiling"]}
        if around:
            self.assertEqual(around[True], [1, 2], "of its own session alone")
            self.assertIn(around[False], ([0], [1, 2]))
        # A finished run asks for no more of them.
        self.command(str(BIN / "assay"), "run", both, "--out", self.out, "--resume", code=0,
                     env=self.environment(ASSAY_FAULT_OFF="1"))
        self.assertEqual(len(self.brackets()), 3)


if __name__ == "__main__":
    main()
