#!/usr/bin/env python3
"""assay-train --parallel on a fake GPU (fake/cudart.cpp) on several ranks. Its memory is guarded: a rank dies that touches it but by the runtime, as by
a message of MPI or a checksum. Nothing here says anything of the times of a GPU."""
import json
import os
import pathlib
import shutil
import unittest

from run_helper import ASSAY, BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME", "CUBLASLT_SONAME", "NCCL_SONAME"))
MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
STAGED = "staged through pinned host memory"
MLP = ("--network", "mlp:i64w32l4c10", "--batch", "8", "--rate", "0.01")
RESNET = ("--network", "resnet18:w4s32c5", "--batch", "2", "--rate", "0.01")
NCCL = ("--allreduce-transport", "nccl")


@unittest.skipUnless(MPIRUN, "needs mpirun")
class Parallel(RunTest):
    def train(self, way, *words, ranks=2, code=0, **variables):
        file = self.folder / "row.json"
        file.unlink(missing_ok=True)
        environment = self.environment(ASSAY_CUDA_TRACE="0", FAKE_GPU_GUARDED="1", FAKE_GPU_WORK_US="2", FAKE_GPU_COUNT=str(ranks), **MPI, **variables)
        self.command(MPIRUN, "-n", ranks, "env", f"LD_PRELOAD={PRELOAD}", BIN / "assay-train", "--device", "gpu", "--backend", "cuda", "--threads", "1",
                     "--max-time", "0.01", "--parallel", way, *words, "--out", file, env=environment, code=code)
        self.command(ASSAY, "validate", file, code=0)
        return json.loads(file.read_text())["rows"][0]

    def expect_right(self, row, *, staged=True):
        self.assertEqual(row["status"], "ok", row["reason"])
        implementation = row["executed"]["implementation"]
        self.assertRegex(implementation, r"^(\d+) of \1 operations by cuda")
        self.assertEqual(STAGED in implementation, staged, implementation)
        return {name: of["value"] for name, of in row["metrics"].items()}

    def test_weights_on_servers_are_replayed_with_equal_bits(self):
        for way, network in (("stale:1", MLP), ("async", MLP), ("server:1", MLP), ("stale:1", RESNET)):
            with self.subTest(way=way, network=network):
                row = self.train(way, *network, "--steps", "8")
                metrics = self.expect_right(row)
                self.assertIn("weights in ", row["executed"]["implementation"])
                self.assertIn("serial replay", row["verification"]["reference"])
                self.assertEqual(metrics["gradients_lost"], 0)

    def test_16_bits_masks_and_other_rules_on_servers(self):
        for way, words in (("async", ("--network", "mlp:i64w32p25c5", "--optimizer", "adam")), ("stale:1", ("--network", "mlp:i64w32p25c5")),
                           ("server:1", ("--network", "mlp:i64w32c5", "--precision", "fp16")),
                           ("stale:2", ("--network", "mlp:i64w32c5", "--precision", "bf16", "--optimizer", "lamb"))):
            with self.subTest(way=way, words=words):
                self.expect_right(self.train(way, *words, "--batch", "8", "--rate", "0.001", "--steps", "16"))

    def test_pipelines_equal_plain_accumulation(self):
        for way, network in (("pipeline:2", MLP), ("pipeline:2:fill-drain", MLP), ("pipeline:2", RESNET)):
            with self.subTest(way=way, network=network):
                row = self.train(way, *network, "--accumulate", "4", "--steps", "2")
                metrics = self.expect_right(row)
                self.assertIn("2 stages sent by messages", row["executed"]["implementation"])
                self.assertGreater(metrics["judged_steps"], 0)
                self.assertEqual(metrics["judged_steps_equal_bits"], metrics["judged_steps"])

    def test_divided_layers_equal_undivided_ones(self):
        for network, words in ((MLP, ()), (MLP, NCCL), ((*MLP, "--precision", "bf16"), ()), (RESNET, ("--accumulate", "2"))):
            with self.subTest(network=network, words=words):
                row = self.train("split:2", *network, *words, "--steps", "2")
                metrics = self.expect_right(row, staged=words != NCCL)
                self.assertEqual("NCCL" in row["executed"]["implementation"], words == NCCL)
                self.assertGreater(metrics["divided_flops_share"], 0.1)

    def test_groups_of_ranks_add_their_gradients(self):
        for way in ("split:2*sync", "pipeline:2*sync"):
            with self.subTest(way=way):
                self.expect_right(self.train(way, *MLP, "--accumulate", "2", "--steps", "2", ranks=4))

    def test_they_learn(self):
        for way, words in (("stale:1", ()), ("server:1", ()), ("pipeline:2", ("--accumulate", "2")), ("split:2", ())):
            with self.subTest(way=way):
                row = self.train(way, *MLP, *words, "--data", "learnable:n128v32", "--epochs", "1", "--unreached", "kept", "--steps", "4")
                self.assertIn("accuracy", self.expect_right(row))

    def test_a_sum_that_is_not_made_is_found(self):
        row = self.train("split:2", *MLP, *NCCL, "--steps", "2", code=3, FAKE_NCCL_ADDS="0")
        self.assertEqual(row["status"], "incorrect")
        self.assertRegex(row["reason"], "sum of|sum .* over the ranks|differ")

    def test_sums_in_no_fixed_order_cannot_be_made_again(self):
        pipeline = ("pipeline:2", *MLP, "--accumulate", "2")
        for way in (("async", *MLP), (*pipeline, "--precision", "bf16")):
            with self.subTest(way=way):
                row = self.train(*way, "--steps", "4", code=6, FAKE_CUBLASLT_ORDER="10" if "bf16" in way else "23")
                self.assertIn("when it repeats it", row["reason"])
        for way in (pipeline, ("split:2", *MLP)):  # they have bounds
            with self.subTest(way=way):
                self.expect_right(self.train(*way, "--steps", "2", FAKE_CUBLASLT_ORDER="23"))

    def test_equal_steps_in_16_bits_differ_where_sums_have_no_fixed_order(self):
        wide = ("--network", "mlp:i64w64l4c10", "--batch", "64", "--rate", "0.01")
        spread = []
        for way, words in (("sync", wide), ("sync", (*wide, "--seed", "2")), ("sync", RESNET), ("split:2", wide), ("sync", (*wide[:-2], "--direction", "inference"))):
            with self.subTest(way=way, words=words):
                row = self.train(way, *words, "--precision", "bf16", "--steps", "4", FAKE_CUBLASLT_ORDER="20")
                spread.append(self.expect_right(row, staged="inference" not in words).get("difference_of_equal_runs", 0))
        self.assertGreater(max(spread), 1e-4)

    def test_a_pipeline_over_messages_in_the_order_of_a_stream_is_refused(self):
        row = self.train("pipeline:2", *MLP, *NCCL, "--steps", "2", code=6)
        self.assertIn("in the order of a stream", row["reason"])


if __name__ == "__main__":
    main()
