#!/usr/bin/env python3
"""assay-resnet50 on a fake GPU (fake/cudart.cpp, fake/cudnn.cpp, fake/cublasLt.cpp, fake/items.cpp), which computes on the host by the arguments that it
is given. Its memory is guarded: whoever touches it but by the runtime dies. Nothing here says anything of NVIDIA's kernels."""
import json
import os
import pathlib
import shutil

from run_helper import ASSAY, BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME", "CUBLASLT_SONAME"))
SMALL = ("--problem", "d18w4s32c5", "--batch", "2", "--threads", "1", "--device", "gpu", "--max-time", "0.01")


class Resnet(RunTest):
    def row(self, *words, backend="cuda", code=0, before=(), **variables):
        out = self.folder / "row.json"
        out.unlink(missing_ok=True)
        environment = self.environment(ASSAY_CUDA_TRACE="0", FAKE_GPU_GUARDED="1", **variables)
        environment.pop("NVIDIA_TF32_OVERRIDE", None)
        self.command(*before, "env", f"LD_PRELOAD={PRELOAD}", BIN / "assay-resnet50", "--backend", backend, *SMALL, *words, "--out", out, env=environment, code=code)
        self.command(ASSAY, "validate", out, code=0)
        return json.loads(out.read_text())["rows"][0]

    def test_a_training_step_is_right(self):
        for backend in ("cuda", "auto"):
            row = self.row("--steps", "2", backend=backend)
            self.assertEqual((row["status"], len(row["samples_s"])), ("ok", 2), row["reason"])
            self.assertNotIn("peak_memory_bytes", row["metrics"])  # the host's alone is known
            self.assertIn("62 gradients", row["verification"]["reference"])
            self.assertEqual(row["executed"]["implementation"], "116 of 116 operations by cuda, each phase one CUDA graph")

    def test_without_graphs_operations_are_submitted_one_by_one(self):
        row = self.row("--steps", "2", FAKE_GPU_GRAPHS="0")
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertRegex(row["executed"]["implementation"], "^116 of 116 operations by cuda, not recorded: recording work failed")

    def test_gradients_are_accumulated_and_lag(self):
        for words in (("--accumulate", "2"), ("--lag", "1"), ("--optimizer", "lars")):
            self.assertEqual(self.row("--steps", "2", *words)["status"], "ok")

    def test_inference_is_right(self):
        row = self.row("--direction", "inference", "--steps", "2")
        self.assertEqual(row["status"], "ok")
        self.assertIn("each phase one CUDA graph", row["executed"]["implementation"])

    def test_it_learns(self):
        row = self.row("--data", "learnable:n16v8", "--batch", "8", "--epochs", "1", "--unreached", "kept")
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertIn("accuracy", row["metrics"])

    def test_what_it_has_not_is_refused(self):
        row = self.row("--precision", "bf16", code=6)
        self.assertIn("cuDNN's gradients of weights have the type of its inputs", row["reason"])
        self.assertIn("native has no device", self.row(backend="native", code=6)["reason"])
        if shutil.which("mpirun"):
            row = self.row(code=6, before=("mpirun", "-n", "2"))
            self.assertIn("the ranks add gradients in memory of the host", row["reason"])

    def test_a_kernel_that_is_not_launched_fails(self):
        self.assertEqual(self.row(code=7, FAKE_GPU_LAUNCHES="0")["status"], "failed")


if __name__ == "__main__":
    main()
