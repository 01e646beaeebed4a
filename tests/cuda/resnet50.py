#!/usr/bin/env python3
"""assay-resnet50 on a fake GPU (fake/cudart.cpp, fake/cudnn.cpp, fake/cublasLt.cpp, fake/items.cpp), which computes on the host by the arguments that it
is given. Its memory is guarded: whoever touches it but by the runtime dies. Nothing here says anything of NVIDIA's kernels."""
import json
import math
import os
import pathlib
import re
import shutil
import struct
import unittest

from run_helper import ASSAY, BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME", "CUBLASLT_SONAME"))
NCCL = FAKES / os.environ["NCCL_SONAME"]  # built where both NCCL and MPI are
MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
BY_CUDA = "116 of 116 operations by cuda"
SMALL = ("--problem", "d18w4s32c5", "--batch", "2", "--threads", "1", "--device", "gpu", "--max-time", "0.01")


class Resnet(RunTest):
    def row(self, *words, backend="cuda", code=0, before=(), preload=PRELOAD, **variables):
        out = self.folder / "row.json"
        out.unlink(missing_ok=True)
        # All plans take as long, so the library's first proposal is chosen: the host's own times are chance.
        environment = self.environment(**{"ASSAY_CUDA_TRACE": "0", "FAKE_GPU_GUARDED": "1", "FAKE_GPU_WORK_US": "2", **variables})
        environment.pop("NVIDIA_TF32_OVERRIDE", None)
        if "fp16" in words and not {"--batch", "--direction"} & set(words):
            # With two images, batch normalization of the last layers sees two values, whose variance may be nearly 0. About one
            # training in a hundred then diverges, on any backend: its gradients overflow even at a loss scale of 1.
            words = (*words, "--batch", "4")
        self.command(*before, "env", f"LD_PRELOAD={preload}", BIN / "assay-resnet50", "--backend", backend, *SMALL, *words, "--out", out, env=environment, code=code)
        self.command(ASSAY, "validate", out, code=0)
        return json.loads(out.read_text())["rows"][0]

    def rows_of_ranks(self, ranks, *words, of_each=(), **more):
        mpi = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        return self.row(*words, before=(MPIRUN, "-n", ranks, *of_each), preload=f"{PRELOAD}:{NCCL}", FAKE_GPU_COUNT=str(ranks), **mpi, **more)

    def test_a_training_step_is_right(self):
        for backend in ("cuda", "auto"):
            row = self.row("--steps", "2", backend=backend)
            self.assertEqual((row["status"], len(row["samples_s"])), ("ok", 2), row["reason"])
            # The memory is that of the GPU: the tensors of the network, and little else.
            tensors = row["executed"]["workspace_bytes"]
            self.assertTrue(tensors <= row["metrics"]["peak_memory_bytes"]["value"] < 1.1 * tensors + (1 << 20), row)
            self.assertIn("62 gradients", row["verification"]["reference"])
            self.assertEqual(row["executed"]["implementation"], f"{BY_CUDA}, each phase one CUDA graph")

    def test_equal_convolutions_have_one_choice(self):
        plans = self.folder / "plans"
        # A measured network asks for graphs by their names, too.
        for words, backend in (((), "cuda"), (("--precision", "tf32"), "cuda"), ((), "auto")):
            plans.unlink(missing_ok=True)
            row = self.row("--steps", "2", *words, backend=backend, FAKE_CUDNN_PLANS=str(plans))
            self.assertEqual(row["status"], "ok", row["reason"])
            lines = plans.read_text().splitlines()
            self.assertEqual(len(lines), len(set(lines)), (words, backend))

    def test_every_algorithm_of_cudnn_is_a_candidate_and_verified(self):
        for direction, algorithm in (("forward", "implicit_gemm"), ("bwd_data", "algo_1"), ("bwd_weights", "algo_3")):
            # The fastest of all, and wrong.
            row = self.row("--steps", "2", backend="auto", FAKE_CUDNN_IDLE=algorithm)
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertRegex(row["executed"]["implementation"], f"left out as wrong: .* {direction} by cuda \\({algorithm}\\): ")
            ran = {layer["algorithm"] for layer in row["layers"] if (layer["operation"], layer["direction"]) == ("conv", direction)}
            self.assertNotIn(algorithm, ran)
        row = self.row("--steps", "2", backend="auto", FAKE_CUDNN_IDLE="engine_70")  # the plan in fp32
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertRegex(row["executed"]["implementation"], "left out as wrong: .* by cuda \\(graph\\): ")
        self.assertNotIn("graph", {layer["algorithm"] for layer in row["layers"]})

    def test_mixed_precision_is_right(self):
        # No check can tell a wrong result of cuDNN's larger Winograd transforms in bf16, which the fake one would
        # choose.
        for precision, backend in (("fp16", "cuda"), ("fp16", "auto"), ("bf16", "auto")):
            for made in ("16bit", "wide"):
                row = self.row("--steps", "2", "--precision", precision, *(("--weight-gradients", "wide") if made == "wide" else ()), backend=backend)
                self.assertEqual(row["status"], "ok", row["reason"])
                self.assertEqual((row["parameters"]["weight_gradients"], "/weight_gradients=16bit/" in row["id"]), (made, made == "16bit"))
                ran = row["executed"]["implementation"]
                # Gradients of filters that are wide have inputs that are wider than the network's.
                wide = sum(map(int, re.findall(r", (\d+) products of matrices in (?:tf32|fp32)", ran)))
                self.assertEqual(wide, 20 if made == "wide" else 0, ran)
                self.assertEqual(f", 20 gradients of filters made in {precision} and converted" in ran, made == "16bit", ran)
                # Measured choices may be transforms, in fp32, where the fake ones happen to be fast.
                self.assertIn("in tf32, each phase one CUDA graph" if (backend, made) == ("cuda", "wide") else ", each phase one CUDA graph", ran)
                self.assertEqual(row["parameters"]["loss_scale"], "dynamic" if precision == "fp16" else "none")
        self.assertEqual(self.row("--steps", "2", "--precision", "fp16", FAKE_GPU_CAPABILITY="7")["status"], "ok")
        self.assertIn("has no bf16", self.row("--precision", "bf16", code=6, FAKE_GPU_CAPABILITY="7")["reason"])

    def test_wrong_gradients_in_16_bits_are_found(self):
        for precision in ("fp16", "bf16"):  # the algorithm that the fake cuDNN names first
            row = self.row("--steps", "2", "--precision", precision, code=3, FAKE_CUDNN_IDLE="fft_tiling")
            self.assertIn("of conv1.weight of the network differs", row["reason"])

    def test_gradients_in_16_bits_go_with_all_else(self):
        for words in (("--accumulate", "2"), ("--lag", "1"), ("--optimizer", "lars"), ("--self-check", "yes"),
                      ("--data", "learnable:n16v8", "--batch", "8", "--epochs", "1", "--unreached", "kept")):
            row = self.row("--steps", "2", "--precision", "fp16", "--weight-gradients", "auto", *words)
            self.assertEqual((row["status"], row["parameters"]["weight_gradients"]), ("ok", "16bit"), row["reason"])

    def test_tf32_is_right(self):
        row = self.row("--steps", "2", "--precision", "tf32")
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertEqual([row["executed"][key] for key in ("storage", "compute", "accumulate")], ["fp32", "tf32", "fp32"])
        self.assertIn(", 62 products of matrices in tf32", row["executed"]["implementation"])
        # Less exact than fp32, and not held to its bounds.
        self.assertGreater(row["verification"]["norm_error"], 10 * self.row("--steps", "2")["verification"]["norm_error"])
        for words in (("--direction", "inference"), ("--self-check", "yes"), ("--data", "learnable:n16v8", "--batch", "8", "--epochs", "1", "--unreached", "kept")):
            row = self.row("--steps", "2", "--precision", "tf32", *words)
            self.assertEqual(row["status"], "ok", row["reason"])

    def test_tf32_that_was_computed_in_fp32_is_unsupported(self):
        for backend in ("cuda", "auto"):
            for words in ((), ("--direction", "inference")):
                row = self.row("--steps", "2", "--precision", "tf32", *words, backend=backend, code=6, FAKE_PROMOTES_TF32="1")
                self.assertEqual(row["status"], "unsupported")
                self.assertRegex(row["reason"], "(forward|bwd_data|bwd_weights) by cuda.*silently promoted")
        self.assertIn("has no tf32", self.row("--precision", "tf32", code=6, FAKE_GPU_CAPABILITY="7")["reason"])

    def test_without_graphs_operations_are_submitted_one_by_one(self):
        row = self.row("--steps", "2", FAKE_GPU_GRAPHS="0")
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertRegex(row["executed"]["implementation"], f"^{BY_CUDA}, not recorded: recording work failed")

    def test_gradients_are_accumulated_and_lag(self):
        for words in (("--accumulate", "2"), ("--lag", "1"), ("--optimizer", "lars")):
            self.assertEqual(self.row("--steps", "2", *words)["status"], "ok")

    def test_inference_is_right(self):
        row = self.row("--direction", "inference", "--steps", "2")
        self.assertEqual(row["status"], "ok")
        self.assertIn("each phase one CUDA graph", row["executed"]["implementation"])

    def test_inference_computes_convolutions_with_their_normalizations(self):
        for precision in ("fp16", "bf16", "tf32"):
            row = self.fused(precision)
            self.assertEqual(self.count_fused(row), 20)
            self.assertIn(", each phase one CUDA graph", row["executed"]["implementation"])
            self.assertFalse({"conv", "norm"} & {layer["operation"] for layer in row["layers"]})
        for words, refused, why in (((), "", "on tensor cores"), (("--precision", "fp16"), "fusion", "no fusion here")):
            row = self.row("--direction", "inference", "--steps", "2", *words, FAKE_CUDNN_REFUSES=refused)
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertRegex(row["executed"]["implementation"], f", not fused: .*{why}")
            self.assertEqual(sum(layer["operation"] == "norm" for layer in row["layers"]), 20)

    def test_what_the_library_cannot_compile_is_not_fused(self):
        for words, operation, count in ((("--direction", "inference"), "norm", 20), (("--lag", "0"), "norm", 40)):
            row = self.row("--steps", "2", "--precision", "fp16", *words, FAKE_CUDNN_UNCOMPILED="fusion")
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertRegex(row["executed"]["implementation"], ", not fused: eng6.*does not compile")
            self.assertEqual(sum(layer["operation"] == operation for layer in row["layers"]), count)

    @unittest.skipUnless(NCCL.exists() and MPIRUN, "needs the fake NCCL of this build and mpirun")
    def test_what_one_rank_cannot_compile_is_fused_on_none(self):
        on_rank_1 = 'test "$OMPI_COMM_WORLD_RANK" = 0 || export FAKE_CUDNN_UNCOMPILED=fusion; exec "$@"'
        row = self.rows_of_ranks(2, "--steps", "2", "--precision", "fp16", of_each=("sh", "-c", on_rank_1, "sh"))
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertRegex(row["executed"]["implementation"], ", not fused: .*rank 1: .*does not compile")
        self.assertEqual(sum(layer["operation"] == "norm" for layer in row["layers"]), 40)

    def test_a_candidate_that_fails_is_left_out(self):
        # Asked by its name, too: the plan in fp32, and an algorithm of the older interface.
        for broken in ({"FAKE_CUDNN_UNCOMPILED": "engine_70"}, {"FAKE_CUDNN_FAILS": "implicit_gemm"}):
            row = self.row("--steps", "2", backend="auto", **broken)
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertNotIn("implicit_gemm" if "FAKE_CUDNN_FAILS" in broken else "none",
                             {layer["algorithm"] for layer in row["layers"]})

    def fused(self, precision, **variables):
        """The row of an inference whose convolutions are fused, each piece of work of which takes 8 us."""
        row = self.row("--direction", "inference", "--steps", "2", "--precision", precision, FAKE_GPU_WORK_US="8", **variables)
        self.assertEqual(row["status"], "ok", row["reason"])
        return row

    def count_fused(self, row):
        self.assertEqual(sum(layer["operation"] == "conv_norm" for layer in row["layers"]), 20)
        found = re.search(r", (\d+) convolutions fused with their normalizations", row["executed"]["implementation"])
        return int(found[1]) if found else 0

    def test_a_fused_convolution_that_is_slower_than_its_parts_is_not_taken(self):
        row = self.fused("fp16", FAKE_CUDNN_SLOW="fusion")
        self.assertEqual(self.count_fused(row), 0)
        found = re.search(r", not fused: conv1 forward takes (\S+) us in parts, (\S+) us as one", row["executed"]["implementation"])
        self.assertLess(float(found[1]), float(found[2]))
        # A smaller form, in which others may be fused, is compared with fp64: the parts are chosen there, too.
        self.assertIn("logits", row["verification"]["reference"])

    def test_a_fused_convolution_that_is_wrong_is_not_taken(self):
        for part in ("0", "1", "3"):  # the mean, the factor, the addend or a rectifier; shifts are 0 in this network
            row = self.fused("fp16", FAKE_CUDNN_LEAVES_OUT=part)
            self.assertLess(self.count_fused(row), 20)
            self.assertRegex(row["executed"]["implementation"], "not fused: .* forward by cuda: .*, left out as wrong: .* forward by cuda: ")

    def summed(self, precision, *words, **variables):
        """The row of a training, and how many normalizations take the sums that their convolutions make: 17 of 20 are the next operation."""
        row = self.row("--steps", "2", "--precision", precision, *words, FAKE_GPU_WORK_US="8", **variables)
        self.assertEqual(row["status"], "ok", row["reason"])
        found = re.search(r", (\d+) normalizations by sums that their convolutions make", row["executed"]["implementation"])
        return row, int(found[1]) if found else 0

    def test_normalizations_take_the_sums_that_their_convolutions_make(self):
        for precision, *words in (("fp16",), ("bf16", "--accumulate", "2"), ("tf32", "--lag", "1"), ("fp16", "--self-check", "yes")):
            self.assertEqual(self.summed(precision, *words)[1], 17)
        for variables, why in (({"FAKE_CUDNN_SLOW": "fusion"}, "take \\S+ us, \\S+ us with its sums"), ({"FAKE_CUDNN_REFUSES": "fusion"}, ".*no fusion here")):
            row, count = self.summed("fp16", **variables)
            self.assertEqual(count, 0)
            self.assertRegex(row["executed"]["implementation"], f", not fused: .*{why}")

    def test_wrong_sums_of_a_convolution_are_not_taken(self):
        for precision in ("fp16", "bf16"):
            for fault in ("pixel", "squares", "none"):
                row, count = self.summed(precision, FAKE_CUDNN_SUMS=fault)
                self.assertLess(count, 17)
                self.assertRegex(row["executed"]["implementation"], "left out as wrong: .* forward by cuda \\(sums\\): (dst|mean|variance)")

    def weights(self, file):
        """The bytes of all parameters, as they lie in a checkpoint (models/network/checkpoint.hpp)."""
        content = file.read_bytes()
        length = int.from_bytes(content[8:16], "little")
        header, at = json.loads(content[20:20 + length]), 20 + length
        for blob in header["blobs"]:
            if blob["name"] == "value 1":
                return struct.unpack(f"<{blob['bytes'] // 4}f", content[at:at + blob["bytes"]])
            at += blob["bytes"]

    def test_filters_are_in_the_order_of_the_convolutions_but_not_in_files(self):
        training = ("--data", "learnable:n16v8", "--unreached", "kept", "--optimizer", "lars", "--schedule", "constant")
        files = {where: self.folder / where for where in ("cpu", "gpu")}
        row = self.row(*training, "--epochs", "1", "--checkpoint", files["gpu"])
        self.assertEqual((row["status"], row["executed"]["layout"]), ("ok", "nhwc_ohwi"), row["reason"])
        on_host = [word for word in SMALL if word not in ("--device", "gpu")]
        self.command(BIN / "assay-resnet50", "--backend", "native", *on_host, *training, "--epochs", "1", "--checkpoint", files["cpu"], "--out",
                     self.folder / "cpu.json", code=0)
        ours, theirs = self.weights(files["gpu"]), self.weights(files["cpu"])
        self.assertEqual(len(ours), len(theirs))
        norm = math.sqrt(sum(x * x for x in theirs))
        self.assertLess(math.dist(ours, theirs), 5e-3 * norm)  # those of conv1 alone in another order: 0.12
        row = self.row(*training, "--epochs", "2", "--checkpoint", files["gpu"], "--restart", "yes")
        self.assertEqual(row["status"], "ok", row["reason"])

    def test_it_learns(self):
        row = self.row("--data", "learnable:n16v8", "--batch", "8", "--epochs", "1", "--unreached", "kept")
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertIn("accuracy", row["metrics"])

    def test_what_it_has_not_is_refused(self):
        self.assertIn("native has no device", self.row(backend="native", code=6)["reason"])

    @unittest.skipUnless(NCCL.exists() and MPIRUN, "needs the fake NCCL of this build and mpirun")
    def test_ranks_train_together(self):
        # MPI cannot read GPU memory, so the sums are staged on the host. A backward pass that contains them is not recorded as a CUDA graph.
        for words, recorded in (((), ", forward, update each one CUDA graph"), (("--accumulate", "2"), ", each phase one CUDA graph"),
                                (("--allreduce", "ring"), ", forward, update each one CUDA graph"), (("--wire", "fp16"), ", forward, update each one CUDA graph"), (("--lag", "1"), "")):
            row = self.rows_of_ranks(2, "--steps", "2", *words)
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertRegex(row["executed"]["implementation"], f"^(\\d+) of \\1 operations by cuda{recorded}, gradients added by ")
            self.assertIn("staged through pinned host memory", row["executed"]["implementation"])
        for words in ((), ("--lag", "1"), ("--accumulate", "2"), ("--precision", "fp16")):
            row = self.rows_of_ranks(3, "--steps", "2", "--transport", "nccl", *words)
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertIn("gradients added by NCCL", row["executed"]["implementation"])
            self.assertNotIn("staged", row["executed"]["implementation"])

    @unittest.skipUnless(NCCL.exists() and MPIRUN, "needs the fake NCCL of this build and mpirun")
    def test_a_sum_that_is_not_made_is_found(self):
        row = self.rows_of_ranks(2, "--transport", "nccl", code=3, FAKE_NCCL_ADDS="0")
        self.assertEqual(row["status"], "incorrect")
        self.assertIn("of the sum of gradients", row["reason"])

    @unittest.skipUnless(NCCL.exists() and MPIRUN, "needs the fake NCCL of this build and mpirun")
    def test_nccl_refuses_what_is_done_on_the_host(self):
        for words, reason in ((("--wire", "fp16"), "--wire converts data on the host"), (("--allreduce", "ring"), "ring reduces in host memory")):
            self.assertIn(reason, self.rows_of_ranks(2, "--transport", "nccl", *words, code=6)["reason"])

    def test_a_kernel_that_is_not_launched_fails(self):
        self.assertEqual(self.row(code=7, FAKE_GPU_LAUNCHES="0")["status"], "failed")


if __name__ == "__main__":
    main()
