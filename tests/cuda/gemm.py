#!/usr/bin/env python3
"""assay-gemm on a fake GPU (fake/cudart.cpp, fake/cublasLt.cpp), which multiplies on the host by the descriptors that it is given:
types, transposes, leading dimensions, batches, factors. Nothing here says anything of NVIDIA's kernels."""
import json
import os
import pathlib

from run_helper import BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME", "CUBLASLT_SONAME"))
SHAPES = ["m13n11k17", "m13n11k17ta", "m13n11k17tb", "m13n11k17tatb", "m13n11k17b3lda14ldb19ldc15beta1", "m8n9k10alpha2beta-1tb"]


class Gemm(RunTest):
    def rows(self, *words, program="assay-gemm", code=None, **variables):
        out = self.folder / "rows.json"
        out.unlink(missing_ok=True)
        environment = self.environment(**{"LD_PRELOAD": PRELOAD, "ASSAY_CUDA_TRACE": "0", **variables})
        environment.pop("NVIDIA_TF32_OVERRIDE", None)
        self.command(BIN / program, "--backend", "cuda", "--device", "gpu", "--max-time", "0.001", "--min-samples", "2",
                     "--out", out, *words, env=environment, code=code)
        return json.loads(out.read_text())["rows"]

    def test_every_precision_and_form_is_right(self):
        rows = self.rows("--problem", ",".join(SHAPES), "--precision", "fp64,fp32,tf32,fp16,bf16,fp16_fp32,bf16_fp32", code=0)
        self.expect_ok(rows, len(SHAPES) * 7)
        for row in rows:
            self.assertEqual(row["executed"]["workspace_bytes"], 4096)
            wide = row["parameters"]["precision"] in ("fp64", "fp32")
            self.assertEqual(row["executed"]["evidence"], "numerical" if wide else "requested")
            self.assertEqual(row["executed"]["storage"], row["parameters"]["precision"].replace("tf32", "fp32"))

    def test_tf32_that_was_computed_in_fp32_is_unsupported(self):
        # Padded, with what C held, and as streams' matmul: of no row is it known but that it was requested.
        for program, problem in (("assay-gemm", ",".join(SHAPES)), ("assay-stream", "matmul_n48")):
            for row in self.rows("--problem", problem, "--precision", "tf32", program=program, code=6, FAKE_PROMOTES_TF32="1"):
                self.assertEqual(row["status"], "unsupported", row["id"])
                self.assertIn("silently promoted", row["reason"])
                self.assertIsNone(row["time_s"])

    def test_factors_that_are_no_integers(self):
        self.expect_ok(self.rows("--problem", "m13n11k17alpha0.1beta0.5", "--precision", "fp64,fp32,fp16,bf16_fp32", code=0), 4)

    def test_int8_where_both_matrices_lie_along_the_sum(self):
        rows = self.rows("--problem", "m12n8k16ta,m12n8k16tabeta1,m12n8k16", "--precision", "int8")
        self.assertEqual([row["status"] for row in rows], ["ok", "ok", "unsupported"])
        self.assertIn("cuBLASLt has no algorithm", rows[2]["reason"])

    def fp8(self, *problems, code=0, **variables):
        return self.rows("--problem", ",".join(problems), "--precision", "fp8_e4m3,fp8_e5m2", code=code, **variables)

    def test_fp8_is_right_where_both_matrices_lie_along_the_sum(self):
        problems = ("m32n16k48ta", "m32n48k512talda528ldb544ldc40b2beta1", "m16n16k80taalpha0.1beta0.5", "m16n32k2048ta")
        for fault in ("none", "fast"):  # sums that are promoted nowhere are within the bounds, too
            rows = self.fp8(*problems, FAKE_CUBLASLT_FP8=fault)
            self.expect_ok(rows, 8)
        for row in rows:
            executed, precision = row["executed"], row["parameters"]["precision"]
            self.assertEqual((executed["storage"], executed["compute"], executed["accumulate"]), (precision, precision, "fp22_rz"))
        # The arithmetic is told by the names of its kernels.
        for kernel, compute in (("nvjet_qqtst_128x256_128x6_2x1_v_bz_coopA_TNT", "fp8_e4m3"), ("void naive<float>()", None)):
            (row,) = self.rows("--problem", problems[0], "--precision", "fp8_e4m3", code=0, ASSAY_CUDA_TRACE="1",
                               LD_PRELOAD=f"{PRELOAD}:{FAKES / os.environ['CUPTI_SONAME']}", FAKE_CUPTI_KERNELS=kernel)
            self.assertEqual((row["executed"]["compute"], row["executed"]["evidence"]), (compute, "trace"))

    def test_fp8_that_is_wrong_is_found(self):
        for fault in ("unscaled", "scaled_once", "transposed", "7_bits"):
            for row in self.fp8("m32n16k512ta", code=3, FAKE_CUBLASLT_FP8=fault):
                self.assertEqual(row["status"], "incorrect", (fault, row["reason"]))
        # There is nothing to swap in two matrices of one format.
        self.assertEqual([row["status"] for row in self.fp8("m32n16k512ta", code=3, FAKE_CUBLASLT_FP8="swapped")], ["ok", "incorrect"])

    def test_fp8_that_cannot_be_is_unsupported(self):
        for problem in ("m32n16k48", "m32n16k48tatb", "m32n16k40ta", "m24n16k48ta", "m32n16k48talda49"):
            for row in self.fp8(problem, code=6):
                self.assertIn("cuBLASLt has no algorithm", row["reason"])
                self.assertIn("multiples of 16", row["reason"])
        for row in self.fp8("m32n16k48ta", code=6, FAKE_GPU_CAPABILITY="8"):
            self.assertIn("(compute capability 8.0, it came with 8.9)", row["reason"])

    def test_streams_matmul_is_a_product(self):
        rows = self.rows("--problem", "matmul_n48", "--precision", "fp64,fp32,tf32,fp16,bf16,int8,fp8_e4m3,fp8_e5m2,bf16_fp32",
                         program="assay-stream")
        self.expect_ok(rows[:-1], 8)
        self.assertIn("no peak of its own", rows[-1]["reason"])
        self.assertIn("cuBLASLt", rows[0]["executed"]["implementation"])

    def test_what_cannot_be_is_unsupported(self):
        rows = self.rows("--problem", SHAPES[0], FAKE_CUBLASLT_NO_ALGORITHM="1", code=6)
        self.assertIn("cuBLASLt has no algorithm", rows[0]["reason"])
        for precision in ("bf16", "bf16_fp32", "tf32"):
            rows = self.rows("--problem", SHAPES[0], "--precision", precision, FAKE_GPU_CAPABILITY="7", code=6)
            self.assertIn("it came with 8.0", rows[0]["reason"])

    def test_what_cublas_may_emulate_is_unsupported(self):
        for switch, precision in (("SINGLE", "fp32"), ("DOUBLE", "fp64")):
            rows = self.rows("--problem", SHAPES[0], "--precision", "fp64,fp32,fp16", code=0,
                             **{f"CUBLAS_EMULATE_{switch}_PRECISION": "1"})
            for row in rows:
                refused = row["parameters"]["precision"] == precision
                self.assertEqual(row["status"], "unsupported" if refused else "ok", row["reason"])
                if refused:
                    self.assertIn(f"CUBLAS_EMULATE_{switch}_PRECISION=1 may compute {precision}", row["reason"])


if __name__ == "__main__":
    main()
