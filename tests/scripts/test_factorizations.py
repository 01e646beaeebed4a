#!/usr/bin/env python3
"""assay-linalg's eigh and qr at the command line: faults, bad input, libraries without LAPACK, what a row says of its verification."""
import json
from pathlib import Path

from run_helper import BIN, BUILD, RunTest, main

LINALG = BIN / "assay-linalg"
LIBRARIES = BUILD / "tests" / "cblas"
PROBLEMS = "eigh:d20,qr:n300d20"
OTHERS = "syrk:n60d5,moments:n60d5,kmeans_assign:n60d5k3,hinge:n60d5,hinge_hessian:n60d5"


class FactorizationTest(RunTest):
    def linalg(self, *words, code=None, **more):
        file = self.folder / "result.json"
        file.unlink(missing_ok=True)
        self.command(LINALG, "--threads", "1", "--max-time", "0.02", "--out", file, *words, env=self.environment(**more), code=code)
        return json.loads(file.read_text())["rows"]


class Faults(FactorizationTest):
    def faulty(self, fault, **more):
        return self.linalg("--backend", "faulty", "--problem", PROBLEMS, "--precision", "fp64,fp32", "--algorithm", fault,
                           ASSAY_FAULT_ALGORITHM="auto", **more)

    def test_each_fault_is_found(self):
        for fault in ("wrong_element", "wrong_element_late", "nan", "inf", "wrong_precision"):
            for row in self.faulty(fault, ASSAY_FAULT_SIZE="1"):
                with self.subTest(row["id"], fault=fault):
                    self.assertEqual(row["status"], "incorrect", row["reason"])
                    self.assertIsNone(row["time_s"])

    def test_what_is_no_number_is_incorrect_in_every_other_kernel(self):
        for fault in ("auto", "nan", "inf"):
            rows = self.linalg("--backend", "faulty", "--problem", OTHERS, "--precision", "fp64,fp32", "--algorithm", fault,
                               ASSAY_FAULT_ALGORITHM="auto")
            self.assertEqual(len(rows), 10)
            for row in rows:
                with self.subTest(row["id"], fault=fault):
                    self.assertEqual(row["status"], "ok" if fault == "auto" else "incorrect", row["reason"])
                    self.assertEqual(row["time_s"] is None, fault != "auto")

    def test_without_a_fault_all_is_right(self):
        for row in self.expect_ok(self.faulty("auto"), 4):
            verification = row["verification"]
            self.assertIn("outputs by order, residual, orthogonality, trace" if "eigh" in row["id"]
                          else "outputs by triangle, diagonal, Gram matrix", verification["reference"])
            self.assertEqual(verification["checked"], verification["outputs"])
            self.assertGreater(verification["max_error"], 0)
            self.assertEqual(verification["max_error"], verification["norm_error"])
            self.assertGreater(verification["bound"], verification["max_error"])
            self.assertLess(verification["error_over_bound"], 1)
            self.assertFalse(verification["exact"])


class Refusals(FactorizationTest):
    def test_bad_input_names_the_field(self):
        for problem, words in (("eigh:n4d4", "'n'"), ("eigh:d0", "d is 0"), ("qr:n3d4", "n is below d"), ("qr:d4", "n is missing"),
                               ("eigh:d4611686018427387904", "does not fit 64 bits")):
            done = self.command(LINALG, "--backend", "reference", "--problem", problem, code=2)
            self.assertIn(words, done.stderr)

    def test_fp32_of_many_observations_is_not_decided(self):
        rows = self.linalg("--backend", "reference", "--problem", "qr:n4000d1", "--precision", "fp32", code=6)
        self.assertEqual(rows[0]["status"], "unsupported")
        self.assertIn("Gram matrix: an error bound of", rows[0]["reason"])


class Lapack(FactorizationTest):
    def environment(self, **more):
        environment = super().environment(**more)
        environment.pop("ASSAY_PLUGIN_PATH")
        return environment

    def test_a_library_without_lapack_is_unsupported(self):
        libraries = [LIBRARIES / "libcblas_lp64.so", LIBRARIES / "libcblas_suffix.so"]
        libraries += Path("/usr/lib").glob("*/libblis.so.4")
        for library in libraries:
            for row in self.linalg("--backend", "blas", "--blas", library, "--problem", PROBLEMS, code=6):
                with self.subTest(row["id"]):
                    self.assertEqual(row["status"], "unsupported")
                    for words in (f"blas: unavailable: {library} has no LAPACK", "undefined symbol: d", "or use the backend reference."):
                        self.assertIn(words, row["reason"])

    def test_an_algorithm_of_another_kernel_is_refused(self):
        rows = self.linalg("--backend", "blas", "--blas", LIBRARIES / "libcblas_lp64.so", "--problem", "eigh:d4", "--algorithm", "tsqr", code=6)
        self.assertIn("blas has no algorithm tsqr for eigh (it is divide_and_conquer)", rows[0]["reason"])


if __name__ == "__main__":
    main()
