#!/usr/bin/env python3
"""--part of assay-pca, assay-kmeans and assay-svm: the same problem, work and verification as the row of assay-linalg, on every rank; bad names."""
import json
import shutil
import unittest

from run_helper import ASSAY, BIN, SOURCE, RunTest, main

IRIS = SOURCE / "tests" / "models" / "data" / "iris.csv"
# words of the program, and of assay-linalg
PARTS = [("assay-pca", ["--part", "moments", "--precision", "fp32"], "moments:n1001d7", "fp32"),
         ("assay-pca", ["--part", "eigh"], "eigh:d7", "fp64"),
         ("assay-pca", ["--part", "qr", "--algorithm", "tsqr"], "qr:n2056d8", "fp64"),
         ("assay-kmeans", ["--part", "kmeans_assign", "--clusters", 5], "kmeans_assign:n1001d7k5", "fp64"),
         ("assay-svm", ["--part", "hinge"], "hinge:n1001d7", "fp64"),
         ("assay-svm", ["--part", "hinge", "--algorithm", "nelder_mead"], "hinge:n1001d7", "fp64"),
         ("assay-svm", ["--part", "hinge_hessian"], "hinge_hessian:n1001d7", "fp64")]


class Parts(RunTest):
    def environment(self, **more):
        environment = super().environment(**more)
        environment.pop("ASSAY_PLUGIN_PATH")
        return environment

    def rows(self, program, *words, code=None, launcher=()):
        out = self.folder / "rows.json"
        out.unlink(missing_ok=True)
        size = () if program == "assay-linalg" or "--data" in words else ("--problem", "n1001d7")
        self.command(*launcher, BIN / program, *size, "--backend", "reference", "--threads", 1, "--max-time", 0.001, "--out", out, *words, code=code)
        self.command(ASSAY, "validate", out, code=0)
        return json.loads(out.read_text())["rows"]

    def test_a_part_is_the_problem_of_assay_linalg(self):
        for program, words, problem, precision in PARTS:
            with self.subTest(problem, program=program):
                (part,) = self.expect_ok(self.rows(program, *words, code=0), 1)
                (alone,) = self.expect_ok(self.rows("assay-linalg", "--problem", problem, "--precision", precision, code=0), 1)
                self.assertEqual(part["problem"], alone["problem"])
                self.assertEqual(part["executed"], alone["executed"])
                self.assertEqual(part["parameters"]["precision"], precision)
                ways = [row["verification"]["reference"].split(";")[0] for row in (part, alone)]  # how many runs are checked is random
                self.assertEqual(*ways)
                self.assertEqual(set(part["rates"]), set(alone["rates"]))

    def test_what_a_part_does_not_depend_on_is_refused(self):
        (row,) = self.rows("assay-kmeans", "--part", "kmeans_assign", code=0)
        self.assertTrue(row["id"].endswith("/part=kmeans_assign"))
        for program, part, *words in (("kmeans", "kmeans_assign", "--iterations", 3), ("kmeans", "kmeans_assign", "--start", "kmeans++"),
                                      ("kmeans", "kmeans_assign", "--until-moved", 0.1), ("kmeans", "kmeans_assign", "--data", "normal"),
                                      ("pca", "eigh", "--precision", "fp32")):
            with self.subTest(words):
                done = self.command(BIN / f"assay-{program}", "--part", part, "--problem", "n1001d7", "--list", *words, code=2)
                self.assertIn(f"{words[0]} {words[1]} has no use here", done.stderr)

    def test_a_file_gives_its_size(self):
        (row,) = self.expect_ok(self.rows("assay-pca", "--part", "moments", "--data", IRIS, code=0), 1)
        self.assertEqual(row["problem"]["descriptor"], "moments:n150d4")

    @unittest.skipIf(shutil.which("mpirun") is None, "there is no mpirun in PATH")
    def test_each_rank_has_the_problem_of_its_rows(self):
        (row,) = self.expect_ok(self.rows("assay-svm", "--part", "hinge", launcher=("mpirun", "-n", 3), code=0), 1)
        self.assertEqual(row["problem"]["descriptor"], "hinge:n334d7")  # rank 0's: no rank has more
        self.assertEqual(row["parameters"]["ranks"], 3)

    def test_names_that_are_none(self):
        done = self.command(BIN / "assay-svm", "--part", "hing", code=2)
        self.assertIn("unknown part 'hing' (valid: whole, hinge, hinge_hessian). Did you mean 'hinge'?", done.stderr)
        for program, words, reason in (("assay-pca", ("--part", "qr"), "gram has no part qr (it has moments, eigh)."),
                                       ("assay-svm", ("--part", "hinge_hessian", "--algorithm", "nelder_mead"),
                                        "nelder_mead has no part hinge_hessian (it has hinge).")):
            (row,) = self.rows(program, *words, code=6)
            self.assertEqual(row["status"], "unsupported")
            self.assertIn(reason, row["reason"])


if __name__ == "__main__":
    main()
