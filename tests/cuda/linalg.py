#!/usr/bin/env python3
"""assay-linalg on a fake GPU (fake/cudart.cpp, fake/cublas.cpp, fake/cusolver.cpp, fake/items.cpp), which computes on the host by the arguments that it is
given: triangles, transposes, leading dimensions, workspaces. Nothing here says anything of NVIDIA's kernels."""
import json
import os
import pathlib

from run_helper import BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
NAMES = ("CUDART_SONAME", "CUDNN_SONAME", "CUBLASLT_SONAME", "CUBLAS_SONAME", "CUSOLVER_SONAME")
PROBLEMS = ["syrk:n50d13", "syrk:n3d7", "eigh:d1", "eigh:d2", "eigh:d33", "qr:n1d1", "qr:n9d9", "qr:n200d12"]
# Rows of packs of four, two and one; a part of a tile of 256 features, one, and several.
SHAPES = ("n1d1", "n70d9", "n300d34", "n40d256", "n24d520", "n25d263")
PRODUCTS = [f"{kernel}:{shape}" for kernel in ("moments", "hinge_hessian") for shape in SHAPES]
PASSES = [f"hinge:{shape}" for shape in SHAPES] + [
    f"kmeans_assign:{shape}" for shape in ("n1d1k1", "n90d7k1", "n300d250k4", "n300d34k17", "n40d256k5", "n24d520k3", "n25d263k9")]

SMALL_GPU = {"FAKE_GPU_BYTES": str(64 << 20)}


class Linalg(RunTest):
    def rows(self, *words, code=None, without=(), program="assay-linalg", **variables):
        out = self.folder / "rows.json"
        out.unlink(missing_ok=True)
        preload = ":".join(str(FAKES / os.environ[name]) for name in NAMES if name not in without)
        environment = self.environment(LD_PRELOAD=preload, ASSAY_CUDA_TRACE="0", **variables)
        environment.pop("NVIDIA_TF32_OVERRIDE", None)
        self.command(BIN / program, "--backend", "cuda", "--device", "gpu", "--max-time", "0.001", "--min-samples", "2",
                     "--out", out, *words, env=environment, code=code)
        return json.loads(out.read_text())["rows"]

    def test_every_kernel_is_right(self):
        rows = self.rows("--problem", ",".join(PROBLEMS), "--precision", "fp64,fp32", code=0)
        self.expect_ok(rows, len(PROBLEMS) * 2)
        for row in rows:
            self.assertEqual(row["executed"]["evidence"], "numerical")
            self.assertEqual(row["executed"]["compute"], row["parameters"]["precision"])
            self.assertGreater(row["executed"]["workspace_bytes"], 0)
        self.assertRegex(rows[-1]["executed"]["implementation"], r"^cuSOLVER \d+ Xgeqrf")
        self.assertRegex(rows[0]["executed"]["implementation"], r"^cuBLAS \d+ syrk")

    def test_sums_over_observations_are_right(self):
        for processors, problems in (("1", PASSES), ("7", PRODUCTS + PASSES)):  # these products have one block
            rows = self.rows("--problem", ",".join(problems), "--precision", "fp64,fp32", code=0, FAKE_GPU_PROCESSORS=processors)
            for row in self.expect_ok(rows, 2 * len(problems)):
                self.assertRegex(row["executed"]["implementation"], r"^own kernels( and cuBLAS \d+)?$")
                self.assertEqual(row["executed"]["storage"], row["parameters"]["precision"])

    def test_every_multiprocessor_has_a_block_of_a_long_table(self):
        # A sixteenth of 64 MiB is copied at once, 512 Ki elements: these are a copy and a part of one.
        for row in self.expect_ok(self.rows("--problem", "moments:n98304d5", "--precision", "fp32", code=0, FAKE_GPU_PROCESSORS="64", **SMALL_GPU), 1):
            self.assertEqual(row["executed"]["block_rows"], 98304 / 2 / 64)
            self.assertLess(row["executed"]["workspace_bytes"], 4 << 20)

    def test_the_workspace_of_sums_is_bounded(self):
        rows = self.rows("--problem", "hinge:n2500d250,kmeans_assign:n2500d250k3,moments:n2500d250", "--reference-budget", "2e6", code=0,
                         FAKE_GPU_PROCESSORS="132", **SMALL_GPU)
        for row in self.expect_ok(rows, 3):
            self.assertLess(row["executed"]["workspace_bytes"], 20 << 20)
        self.assertLess(rows[2]["executed"]["workspace_bytes"], (4 << 20) + (1 << 20))  # that of copies and that of their products
        self.assertEqual(rows[2]["executed"]["block_rows"], 2500 / 2 / 2)

    def test_a_warp_that_does_not_run_is_found(self):
        for problem, item in (("hinge:n300d34", "HingeRows"), ("kmeans_assign:n300d34k3", "AddToCentroids"), ("kmeans_assign:n300d34k9", "AddToCentroids"),
                              ("kmeans_assign:n300d34k9", "FindLabels"), ("moments:n300d34", "Observe"), ("moments:n300d34", "AddMatrices")):
            for row in self.rows("--problem", problem, FAKE_GPU_LOSES="1", FAKE_GPU_LOSES_OF=item):
                self.assertEqual(row["status"], "incorrect", (problem, item))

    def test_the_programs_run_on_a_gpu(self):
        for program, words in (("assay-pca", ()), ("assay-kmeans", ("--clusters", "3,5")), ("assay-svm", ("--algorithm", "newton,nelder_mead"))):
            for row in self.rows("--problem", "n500d9", "--precision", "fp64,fp32", *words, program=program, code=0):
                self.assertIn("own kernels", row["executed"]["implementation"])

    def test_a_kernel_that_cannot_be_launched_fails(self):
        rows = self.rows("--problem", "moments:n40d3,kmeans_assign:n40d3k2,syrk:n40d3", FAKE_GPU_LAUNCHES="0", code=7)
        self.assertEqual([row["status"] for row in rows], ["failed", "failed", "ok"])
        self.assertIn("moments:n40d3 failed (CUDA: ", rows[0]["reason"])

    def test_without_cublas_there_are_no_products(self):
        self.expect_ok(self.rows("--problem", ",".join(PASSES[:6]), without=("CUBLAS_SONAME", "CUSOLVER_SONAME"), code=0), 6)
        for row in self.rows("--problem", ",".join(PRODUCTS), without=("CUBLAS_SONAME", "CUSOLVER_SONAME"), code=6):
            self.assertIn("libcublas", row["reason"])
        for row in self.rows("--problem", ",".join(PRODUCTS), FAKE_CUBLAS_FAILS="1", code=7):
            self.assertEqual(row["status"], "failed")
            self.assertIn("starting cuBLAS failed", row["reason"])

    def test_an_algorithm_of_another_kernel_is_refused(self):
        for problem, algorithm, known in (("syrk:n9d4", "householder", "direct"), ("hinge:n9d4", "householder", "direct"), ("eigh:d4", "direct", "divide_and_conquer"),
                                          ("qr:n9d4", "direct", "householder")):
            rows = self.rows("--problem", problem, "--algorithm", algorithm, code=6)
            self.assertIn(f"cuda has no algorithm {algorithm} for {problem[:problem.index(':')]} (it is {known}). Use auto.", rows[0]["reason"])
            self.expect_ok(self.rows("--problem", problem, "--algorithm", known, code=0), 1)

    def test_without_cusolver_the_gram_matrix_remains(self):
        rows = self.rows("--problem", "eigh:d4,qr:n9d4,syrk:n9d4", without=("CUSOLVER_SONAME",))
        self.assertEqual([row["status"] for row in rows], ["unsupported", "unsupported", "ok"])
        self.assertIn("cuda: unavailable: ", rows[0]["reason"])
        rows = self.rows("--problem", "syrk:n9d4", without=("CUBLAS_SONAME", "CUSOLVER_SONAME"), code=6)
        self.assertIn("libcublas", rows[0]["reason"])

    def test_a_failure_has_the_librarys_status(self):
        rows = self.rows("--problem", "eigh:d4,qr:n9d4,syrk:n9d4", FAKE_CUSOLVER_FAILS="1", code=7)
        self.assertEqual([row["status"] for row in rows], ["failed", "failed", "ok"])
        self.assertIn("cuSOLVER: status 7", rows[0]["reason"])

    def test_emulated_sums_are_unsupported(self):
        for row in self.rows("--problem", "moments:n40d3", "--precision", "fp64,fp32", code=6, CUBLAS_EMULATE_DOUBLE_PRECISION="1"):
            self.assertIn("CUBLAS_EMULATE_DOUBLE_PRECISION=1 may compute fp64", row["reason"])


if __name__ == "__main__":
    main()
