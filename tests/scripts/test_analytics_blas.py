#!/usr/bin/env python3
"""assay-kmeans and assay-svm wholly on a CBLAS library, which --blas names: what a row says of it, a wrong one, one that lacks a function."""
import json

from run_helper import BIN, BUILD, RunTest, main

LIBRARIES = BUILD / "tests" / "cblas"  # sgemm and sdot alone; libcblas_syrk.so has dsyrk, too
KMEANS = ("assay-kmeans", "--problem", "n20000d50", "--clusters", 5, "--data", "normal", "--precision", "fp32")


class AnalyticsBlas(RunTest):
    def environment(self, **more):
        environment = super().environment(**more)
        environment.pop("ASSAY_PLUGIN_PATH")
        return environment

    def rows(self, program, *words, code=None):
        out = self.folder / "rows.json"
        out.unlink(missing_ok=True)
        self.command(BIN / program, "--backend", "blas", "--threads", 2, "--max-time", 0.001, "--out", out, *words, code=code)
        return json.loads(out.read_text())["rows"]

    def test_the_library_that_is_named_computes(self):
        inertia = set()
        for name in ("lp64", "ilp64"):
            library = LIBRARIES / f"libcblas_{name}.so"
            (row,) = self.expect_ok(self.rows(*KMEANS, "--blas", library, code=0), 1)
            self.assertEqual(row["executed"]["implementation"], "assignment: OpenBLAS of a test cblas_sgemm")
            self.assertEqual(row["parameters"]["blas"], str(library))
            inertia.add(row["metrics"]["inertia"]["value"])
        self.assertEqual(len(inertia), 1)  # the same loops

    def test_a_wrong_library_is_incorrect(self):
        (row,) = self.rows(*KMEANS, "--blas", LIBRARIES / "libcblas_wrong.so")
        self.assertEqual(row["status"], "incorrect")
        self.assertRegex(row["reason"], "counts|centroids")

    def test_a_missing_function_has_the_loaders_words(self):
        library = LIBRARIES / "libcblas_lp64.so"
        for words, name in ((("assay-svm", "--problem", "n900d5", "--precision", "fp32"), "cblas_sgemv"),
                            (("assay-svm", "--problem", "n900d5"), "cblas_dgemv"),
                            (("assay-kmeans", "--problem", "n900d5"), "cblas_dgemm"),
                            (("assay-linalg", "--problem", "hinge_hessian:n900d5"), "cblas_dsyrk")):
            (row,) = self.rows(*words, "--blas", library, code=6)
            self.assertEqual(row["status"], "unsupported")
            self.assertIn(f"undefined symbol: {name}", row["reason"])

    def test_a_library_without_lapack_leaves_the_eigenvectors_to_another(self):
        (row,) = self.expect_ok(self.rows("assay-pca", "--problem", "n900d5", "--blas", LIBRARIES / "libcblas_syrk.so", code=0), 1)
        self.assertRegex(row["executed"]["implementation"], "^moments: OpenBLAS of a test cblas_dsyrk; eigh: Eigen")

    def test_a_library_without_lapack_leaves_the_triangles_to_another(self):
        (row,) = self.expect_ok(self.rows("assay-pca", "--algorithm", "tsqr", "--problem", "n900d5", "--blas", LIBRARIES / "libcblas_syrk.so", code=0), 1)
        self.assertRegex(row["executed"]["implementation"], "^qr: Eigen .*; singular values: Eigen$")

    def test_both_kernels_of_newtons_method_are_the_librarys(self):
        if self.rows("assay-linalg", "--problem", "syrk:n8d2")[0]["status"] == "unsupported":
            self.skipTest("there is no CBLAS library")
        (row,) = self.expect_ok(self.rows("assay-svm", "--problem", "n3000d9", code=0), 1)
        self.assertRegex(row["executed"]["implementation"], "^hinge: .* cblas_dgemv; hessian: .* cblas_dsyrk$")


if __name__ == "__main__":
    main()
