#!/usr/bin/env python3
"""--conform runs what a procurement prescribes and nothing else; --scale makes a row that is comparable with no whole problem."""
import json
import os
import unittest

from run_helper import ASSAY, BIN, SOURCE, RunTest, main

FREE = ("--scale", "1/200000", "--threads", 1, "--max-time", 0.02)
PRESCRIBED = {"pca": {"data": "normal", "algorithm": "gram", "precision": "fp64"},
              "kmeans": {"data": "coral2", "clusters": "2+3+4", "iterations": "2", "start": "random", "until_moved": "none", "precision": "fp64"},
              "svm": {"data": "coral2", "algorithm": "nelder_mead", "evaluations": "500", "precision": "fp64"}}


class Prescribed(RunTest):
    def row(self, benchmark, *words, code=0):
        out = self.folder / "row.json"
        out.unlink(missing_ok=True)
        done = self.command(BIN / f"assay-{benchmark}", *words, "--out", out, code=code)
        [row] = json.loads(out.read_text())["rows"]
        return row, done.stdout

    def listed(self, program, *words):
        return json.loads(self.command(program, *words, "--list", "--json", code=0).stdout)

    def test_one_flag_prescribes_the_whole_case(self):
        for benchmark, settings in PRESCRIBED.items():
            with self.subTest(benchmark):
                [case] = self.listed(BIN / f"assay-{benchmark}", "--conform", "coral2")
                self.assertEqual({**case["settings"], **settings, "conform": "coral2", "problem": "n512000000d250", "scale": "1"},
                                 case["settings"])
                self.assertEqual(case["names"], ["coral2/1024GB"])
                self.assertIn("/conform=coral2", case["id"])
                # The suite has the same cases.
                self.assertEqual(self.listed(BIN / f"assay-{benchmark}", "--suite", "coral2-conform"), [case])

    def test_figure_of_merit_beside_no_number_of_another_size(self):
        for benchmark in PRESCRIBED:
            with self.subTest(benchmark):
                row, text = self.row(benchmark, "--conform", "coral2", *FREE, *(["--clusters", "2+3+4"] if benchmark == "kmeans" else []))
                self.expect_ok([row], 1)
                self.assertAlmostEqual(row["rates"]["figure_of_merit"] * row["time_s"]["median"], 2560 * 250 * 8, places=3)
                self.assertRegex(text, r"figure_of_merit \S+ TB/s")
                self.assertIsNone(row["baseline"])
                self.assertIn("scale is 1/200000 here and 1 there", row["baseline_reason"])
                self.assertIn("no ratio: titan: scale is", text)
                self.assertEqual("note" in row, benchmark == "svm")
        self.assertIn("all rows are distinct", row["note"])
        self.assertIn("note: all rows are distinct", text)
        table = self.command(ASSAY, "table", self.folder / "row.json", code=0).stdout
        self.assertIn("all rows are distinct", " ".join(table.split()))

    def test_without_it_there_is_no_figure_of_merit(self):
        row, _ = self.row("pca", "--problem", "n1000d5", "--max-time", 0.02)
        self.assertNotIn("figure_of_merit", row["rates"])
        self.assertIn("input_bytes_per_s", row["rates"])

    def test_other_values_do_not_conform(self):
        for words, said in ((["kmeans", "--clusters", 5], "clusters 5 does not conform to coral2, which prescribes 2+3+4"),
                            (["pca", "--bytes", "8GB"], "prescribes coral2/1024GB"), (["svm", "--data", "classes"], "prescribes coral2"),
                            (["pca", "--precision", "fp64,fp32"], "prescribes fp64")):
            with self.subTest(words):
                done = self.command(BIN / f"assay-{words[0]}", "--conform", "coral2", *words[1:], "--list", code=2)
                self.assertIn(said, done.stderr)
        self.assertIn("'coral2'", self.command(BIN / "assay-pca", "--conform", "coral", "--list", code=2).stderr)
        self.assertIn("unknown flag '--conform'", self.command(BIN / "assay-conv", "--conform", "coral2", code=2).stderr)

    def test_too_little_memory_is_told(self):
        if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") > 1024e9:
            self.skipTest("this machine has the memory")
        row, text = self.row("pca", "--conform", "coral2", code=7)
        self.assertEqual((row["status"], row["rates"]), ("failed", {}))
        self.assertIn("GiB are available. Use a smaller problem (--scale 1/N", row["reason"])


class Limits(unittest.TestCase):
    """No case is taken for a hanging one on a machine as fast as the published ones."""
    runs = 10  # of a case whose single run exceeds max_time: two verifications before, a warm-up, a sample, audits, two verifications
    titans = 146  # jobs whose sizes a figure of merit adds up

    def seconds(self, system):
        rows = json.loads((SOURCE / "results-schema" / "baselines" / f"{system}.json").read_text())["rows"]
        for row in rows:
            if row["benchmark"] in PRESCRIBED:
                if row["time_s"] is not None and row["time_s"]["median"] is not None:
                    yield row["time_s"]["median"]
                elif "figure_of_merit" in row["rates"]:
                    yield self.titans * row["problem"]["size"] / row["rates"]["figure_of_merit"]

    def test_the_slowest_published_case_has_time(self):
        for name in ("coral2-bdas", "coral2-conform"):
            suite = json.loads((SOURCE / "suites" / f"{name}.json").read_text())
            slowest = max(seconds for system in suite["baseline"] for seconds in self.seconds(system))
            with self.subTest(name, slowest=slowest):
                self.assertGreater(suite["timing"].get("timeout", 20 * suite["timing"]["max_time"]), self.runs * slowest)


class Scaled(RunTest):
    def run_scaled(self, *words, code=0):
        return self.run_suite("coral2-bdas", "--no-ceilings", "--max-time", 0.02, *words, code=code)

    def test_a_suite(self):
        # K-means and SVM of the smaller case; ids name the scale.
        listed = self.command(ASSAY, "run", "coral2-bdas", "--scale", "1/40000", "--list", code=0).stdout.split("\n")[:-1]
        self.assertEqual(len(listed), 6)
        self.assertTrue(all("/scale=1/40000" in line for line in listed), listed)
        self.run_scaled("--scale", "1/40000", "--filter", "n100d250")
        rows = self.expect_ok(self.rows(), 3)
        self.assertEqual(json.loads((self.out / "result.json").read_text())["run"]["scale"], "1/40000")  # `compare --confirm` needs it
        for row in rows:
            self.assertEqual((row["parameters"]["scale"], row["problem"]["size"]), ("1/40000", 100 * 250 * 8))
            self.assertEqual(row["names"], ["coral2/8GB"])
            self.assertIsNone(row["baseline"])
            self.assertIn("scale is 1/40000 here and 1 there", row["baseline_reason"])
            self.assertEqual("all rows are distinct" in row.get("note", ""), row["benchmark"] == "svm")
        text = " ".join(self.command(ASSAY, "table", self.out, "--baseline", "summit", code=0).stdout.split())
        self.assertIn("scale 1/40000", text)
        self.assertNotIn("speedup", text)
        # The resumed run is the same run.
        self.assertIn("scale was \"1/40000\"", self.run_scaled("--resume", "--scale", "1/20000", code=2).stderr)
        self.run_scaled("--resume", code=0)
        self.assertEqual(len(self.rows()), 3)

    def test_bad_scales(self):
        for scale, said in (("0.5", "1/N"), ("2/3", "1/N"), ("1/0", "--scale"), ("1/x", "--scale"), ("1/1000000000", "nothing is left")):
            with self.subTest(scale):
                self.assertIn(said, self.command(BIN / "assay-pca", "--problem", "n1000d5", "--scale", scale, code=2).stderr)
        self.assertIn("1/N", self.run_scaled("--scale", "half", code=2).stderr)
        table = self.folder / "t.csv"
        table.write_text("1,2\n3,4\n5,6\n")
        self.assertIn("has no effect on a file", self.command(BIN / "assay-pca", "--data", table, "--scale", "1/2", code=2).stderr)
        self.assertIn("--scale cannot be used with the suite", self.command(ASSAY, "run", "smoke-allreduce", "--scale", "1/2", "--list",
                                                                             code=2).stderr)

    def test_scale_1_is_the_whole(self):
        whole, scaled = (self.command(BIN / "assay-pca", "--problem", "n1000d5", *words, "--list", code=0).stdout
                         for words in ([], ["--scale", "1/1"]))
        self.assertEqual(whole, scaled)
        self.assertNotIn("scale", whole)

    def test_no_other_flag_goes_with_a_suite(self):
        done = self.command(BIN / "assay-pca", "--suite", "coral2-bdas", "--data", "normal", "--list", code=2)
        self.assertIn("--suite and --data exclude each other", done.stderr)


if __name__ == "__main__":
    main()
