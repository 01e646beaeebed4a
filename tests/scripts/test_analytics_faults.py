#!/usr/bin/env python3
"""assay-pca, assay-kmeans and assay-svm: faults of a backend's operations and of the transport are found; bad input is refused."""
import json
import os
import subprocess

from run_helper import BIN, RunTest, main

CASES = {
    "pca gram": ["assay-pca", "--problem", "n700d12"],
    "pca tsqr": ["assay-pca", "--algorithm", "tsqr", "--problem", "n700d12"],
    "kmeans": ["assay-kmeans", "--problem", "n700d12", "--clusters", "4", "--data", "normal"],
    "svm": ["assay-svm", "--problem", "n900d12"],
}


class AnalyticsTest(RunTest):
    def rows(self, case, *words, code=None, **more):
        file = self.folder / "result.json"
        file.unlink(missing_ok=True)
        program, *flags = CASES[case]
        if "--problem" in words or "--data" in words:
            flags = flags[:flags.index("--problem")]
        self.command(BIN / program, "--threads", "1", "--max-time", "0.02", "--out", file, *flags, *words,
                     env=self.environment(**more), code=code)
        return json.loads(file.read_text())["rows"]


class Faults(AnalyticsTest):
    def test_each_fault_of_an_operation_is_found(self):
        for case in CASES:
            for fault in ("wrong_element", "nan", "wrong_element_late", "wrong_precision"):
                # There are so many samples that a late fault comes before the last one, however slow the build is.
                [row] = self.rows(case, "--backend", "faulty", "--min-samples", "60", ASSAY_FAULT=fault, ASSAY_FAULT_SIZE="1",
                                  ASSAY_FAULT_AFTER="60")
                with self.subTest(case, fault=fault):
                    # Some solvers make an error of their own of NaN.
                    self.assertIn(row["status"], ("incorrect", "failed") if fault == "nan" else ("incorrect",), row["reason"])
                    self.assertIsNone(row["time_s"])
                    self.assertNotIn("metrics", row)

    def test_without_a_fault_all_is_right(self):
        for case in CASES:
            [row] = self.expect_ok(self.rows(case, "--backend", "faulty"), 1)
            self.assertTrue(row["metrics"])
            self.assertLess(row["verification"]["error_over_bound"], 1)
            self.assertIn("timed runs checked", row["verification"]["reference"])


class Refusals(AnalyticsTest):
    def test_bad_input_names_what_is_wrong(self):
        for words, said in ((["assay-pca", "--problem", "n0d3"], "n is 0"), (["assay-pca", "--problem", "n1d3"], "two rows"),
                            (["assay-pca", "--problem", "3QB"], "QB"), (["assay-kmeans", "--clusters", "0"], "--clusters"),
                            (["assay-kmeans", "--problem", "n3d2", "--clusters", "4"], "more than the 3 rows"),
                            (["assay-svm", "--gap", "2"], "--gap"), (["assay-svm", "--cost", "-1"], "--cost"),
                            (["assay-svm", "--evaluations", "0"], "--evaluations"), (["assay-pca", "--data", "no/such.csv"], "no/such.csv")):
            with self.subTest(words):
                done = self.command(BIN / words[0], *words[1:], code=2)
                self.assertIn(said, done.stderr)

    def test_files_are_refused_with_row_and_column(self):
        table = self.folder / "table.csv"
        for text, said in (("1,2\n3,nan\n", ("row 2", "column 2")), ("1,2\n3\n", ("row 2",)), ("1,,2\n3,4,5\n", ("column 2",)), ("", ("table.csv",))):
            table.write_text(text)
            with self.subTest(text):
                done = self.command(BIN / "assay-pca", "--data", table, "--max-time", "0.02", code=None)
                self.assertIn(done.returncode, (2, 7), done.stderr)
                for words in said:
                    self.assertIn(words, done.stderr + done.stdout)

    def test_a_file_that_shrinks_while_it_is_read(self):
        table, out = self.folder / "table.csv", self.folder / "x.json"
        journal = self.folder / "x.json.journal.jsonl"
        table.write_text("".join(f"{i % 7},{i % 5}\n" for i in range(20000)))
        process = subprocess.Popen([BIN / "assay-pca", "--data", table, "--threads", "1", "--max-time", "2", "--precision-target", "1e-6", "--out", out],
                                   env=self.environment(), text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # It is open by then, and read at the latest by the last verification.
        self.wait_until(lambda: process.poll() is not None or journal.exists() and '"begin"' in journal.read_text())
        os.truncate(table, 40)
        _, said = process.communicate()
        self.assertEqual(process.returncode, 2, said)
        self.assertRegex(said, "table.csv has (changed|become shorter) while it was read")
        self.assertFalse(out.exists())

    def test_more_memory_than_there_is_is_not_allocated(self):
        wide = self.folder / "wide.svm"  # two rows that are small in the file alone
        wide.write_text("0 1:1\n1 1:1 100000000:1\n")
        cases = [("pca gram", "--problem", "900TB"), ("kmeans", "--problem", "n65536d64", "--clusters", "65536", "--iterations", "100000"),
                 *((case, "--data", wide) for case in ("pca gram", "pca tsqr", "svm")),
                 ("kmeans", "--data", wide, "--clusters", "2", "--iterations", "100000")]
        for case, *words in cases:
            with self.subTest(case, words=words):
                [row] = self.rows(case, *words, code=7)
                self.assertEqual(row["status"], "failed")
                self.assertIn("GiB are available", row["reason"])

    def test_a_file_is_named_by_its_content(self):
        table = self.folder / "table.csv"
        table.write_text("a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(40)))
        [row] = self.expect_ok(self.rows("pca gram", "--data", str(table)), 1)
        self.assertIn("table.csv:n40d2:", row["id"])
        self.assertEqual(row["problem"]["descriptor"], "n40d2")


if __name__ == "__main__":
    main()
