#!/usr/bin/env python3
"""A sample of a GPU contains the time of the device, and not that of a host that submits slowly. The fake GPU
(fake/timeline.cpp) takes WORK_US for each piece of work, its host SUBMIT_US to submit one."""
import json
import os
import pathlib
import shutil
import unittest

from run_helper import BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME", "CUBLASLT_SONAME"))
NCCL = FAKES / os.environ["NCCL_SONAME"]
MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
SMALL = ("--problem", "d18w4s32c5", "--batch", "2", "--threads", "1", "--backend", "cuda")
PROBLEM = ("--problem", "mb1ic4ih6oc4oh4kh3", "--algorithm", "gemm")
FEW_COLD = ("--problem", "mb1ic16ih18oc16oh16kh3", "--algorithm", "gemm")  # so large that few sets are larger than the cache
WORK_S, SUBMIT_S = 8e-6, 200e-6
SLOW_HOST = {"FAKE_GPU_WORK_US": "8", "FAKE_GPU_SUBMIT_US": "200"}
SLOW_STEPS = {**SLOW_HOST, "FAKE_GPU_SUBMIT_US": "20"}


class Clock(RunTest):
    def rows(self, program, *words, before=(), preload=PRELOAD, code=0, **variables):
        out = self.folder / "clock.json"
        out.unlink(missing_ok=True)
        environment = self.environment(**{"ASSAY_CUDA_TRACE": "0", **variables})
        environment.pop("NVIDIA_TF32_OVERRIDE", None)
        self.command(*before, "env", f"LD_PRELOAD={preload}", BIN / program, "--device", "gpu", "--max-time", "0.01", "--min-samples", "5",
                     *words, "--out", out, env=environment, code=code)
        return json.loads(out.read_text())["rows"]

    def assert_of_device(self, row, pieces=1):
        """Every sample is the time of whole pieces of work."""
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertNotIn("host_included", row["time_s"])
        self.assertTrue(row["time_s"]["held"])
        for sample in row["samples_s"]:
            self.assertAlmostEqual(sample / (pieces * WORK_S), 1, delta=1e-3)
        self.assertLess(abs(row["time_s"]["clock_s"]), 1e-9)

    def test_a_batch_is_the_time_of_the_device(self):
        for cache, problem in (("hot", PROBLEM), ("cold", FEW_COLD)):
            row = self.rows("assay-conv", "--backend", "cuda", *problem, "--cache", cache, **SLOW_HOST)[0]
            self.assert_of_device(row)
            self.assertGreater(row["time_s"]["batch"], 1 if cache == "hot" else 0)

    def test_a_device_that_cannot_be_held_contains_the_host(self):
        row = self.rows("assay-conv", "--backend", "cuda", *PROBLEM, FAKE_GPU_HOLDS="0", **SLOW_HOST)[0]
        self.assertGreater(row["time_s"]["min"], SUBMIT_S)
        self.assertNotIn("held", row["time_s"])
        n = row["time_s"]["n"]
        self.assertEqual(row["time_s"]["host_included"], f"{n} of {n} samples: the driver cannot hold the GPU back (it has no "
                                                         "cuStreamWaitValue32)")

    def test_audits_are_held_as_samples_are(self):
        # An audited run whose time contained that of its host would be called impossible: 4 times a sample and 0.5 ms.
        self.assert_of_device(self.rows("assay-conv", "--backend", "cuda", *PROBLEM, FAKE_GPU_WORK_US="8", FAKE_GPU_SUBMIT_US="3000")[0])

    @unittest.skipUnless((FAKES / os.environ["CUPTI_SONAME"]).exists(), "built without CUPTI")
    def test_another_clock_stands_beside_it(self):
        row = self.rows("assay-conv", "--backend", "cuda", *PROBLEM, preload=f"{PRELOAD}:{FAKES / os.environ['CUPTI_SONAME']}",
                        ASSAY_CUDA_TRACE="1", FAKE_CUPTI_KERNELS="a;b", FAKE_CUPTI_US="4", **SLOW_HOST)[0]
        self.assert_of_device(row)
        self.assertAlmostEqual(row["executed"]["kernels_s"], WORK_S)

    def test_a_queue_that_is_full_lets_the_device_go(self):
        row = self.rows("assay-rnn", "--backend", "cuda", "--problem", "lstm:8-2-3", FAKE_GPU_QUEUE="4", **SLOW_HOST)[0]
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertRegex(row["time_s"]["host_included"], r"^\d+ of \d+ samples: a library waits for the GPU within a run, or a run has more")

    def test_a_run_of_more_launches_than_a_queue_takes_is_recorded(self):
        many = {**SLOW_STEPS, "FAKE_GPU_QUEUE": "64", "FAKE_CUDNN_RNN_PIECES": "200"}
        rnn = ("assay-rnn", "--backend", "cuda", "--problem")
        recorded = "each run submitted as one recording"
        for direction, pieces in (("forward_inference", 200), ("bwd", 401)):  # gradients of weights are zeroed
            row = self.rows(*rnn, "lstm:8-2-3", "--direction", direction, **many)[0]
            self.assert_of_device(row, pieces)
            self.assertIn(recorded, row["executed"]["implementation"])
        # The checks within the timed phase are of recorded runs.
        row = self.rows(*rnn, "lstm:8-2-3", code=3, FAKE_GPU_GRAPHS="idle", **many)[0]
        self.assertEqual((row["status"], row["samples_s"]), ("incorrect", []))
        # The host's time is in runs that cannot be recorded: a library waits, or each run has other buffers.
        for words, variables in ((("lstm:8-2-3",), {"FAKE_GPU_GRAPHS": "0"}), (("lstm:64-2-3", "--cache", "cold"), {})):
            row = self.rows(*rnn, *words, **many, **variables)[0]
            self.assertRegex(row["time_s"]["host_included"], r"^\d+ of \d+ samples: a library waits for the GPU within a run, or a run has more")
            self.assertNotIn(recorded, row["executed"]["implementation"])

    @staticmethod
    def pieces(row):
        return round(row["time_s"]["median"] / WORK_S)

    def test_a_network_and_its_layers(self):
        for words in (("--direction", "inference"), ("--steps", "3"), ("--steps", "3", "--optimizer", "adam", "--rate", "0.001"),
                      ("--steps", "3", "--precision", "fp16", "--loss-scale", "fixed:8")):
            with self.subTest(words=words):
                row = self.rows("assay-resnet50", *SMALL, *words, **SLOW_STEPS)[0]
                self.assert_of_device(row, self.pieces(row))
                layers = sum(layer["seconds"] * layer["runs"] for layer in row["layers"])
                self.assertAlmostEqual(layers / row["time_s"]["median"], 1, delta=0.1)
                self.assertIs(row["layers_sum"]["agrees"], True)
                for layer in row["layers"]:
                    self.assertNotIn("host_included", layer)
                    pieces = layer["seconds"] / WORK_S
                    self.assertAlmostEqual(pieces, round(pieces), delta=1e-3 * pieces)
                if "--steps" in words:
                    self.assert_phases(row)

    def test_layers_that_do_not_add_up_to_the_step_say_so(self):
        small = (*SMALL, "--direction", "inference")
        pieces = self.pieces(self.rows("assay-resnet50", *small, **SLOW_STEPS)[0])
        for more, agrees in ((pieces // 20, True), (pieces // 5, False)):  # of the captured step alone
            row = self.rows("assay-resnet50", *small, FAKE_GPU_GRAPH_PIECES=str(more), **SLOW_STEPS)[0]
            self.assert_of_device(row, pieces + more)
            self.assertIs(row["layers_sum"]["agrees"], agrees)
            self.assertAlmostEqual(row["layers_sum"]["fraction"], pieces / (pieces + more), delta=0.02)

    def assert_phases(self, row):
        """They are the device's, and add up to the step."""
        phases = [row["metrics"][name]["value"] for name in ("forward_s", "backward_s", "update_s")]
        for seconds in phases:
            self.assertAlmostEqual(seconds / WORK_S, round(seconds / WORK_S), delta=0.05)
        added = row["metrics"]["exposed_communication_percent"]["value"] / 100
        self.assertAlmostEqual(sum(phases) / row["time_s"]["median"], 1 - added, delta=1e-3)

    def test_a_step_that_needs_the_host_says_so(self):
        fixed = ("--precision", "fp16", "--loss-scale", "fixed:8", "--optimizer", "adam", "--rate", "0.001")
        for words, why in ((("--precision", "fp16"), "the loss scale of a step depends on the gradients of the step before"),
                           (fixed, "the number of an update depends on how many before it were skipped"),
                           (("--accumulate", "2"), "the host adds up the losses and statistics of a step's passes"),
                           (("--lag", "1"), "with a lag the host keeps some gradients of each step, to check their sum"),
                           (("--data", "learnable:n16v8"), "each step has its images from the host")):
            with self.subTest(words=words):
                row = self.rows("assay-resnet50", *SMALL, "--steps", "3", *words, **SLOW_STEPS)[0]
                self.assertEqual((row["status"], row["time_s"]["host_included"]), ("ok", f"3 of 3 samples: {why}"), row["reason"])
                self.assertGreater(row["time_s"]["min"], row["layers_sum"]["seconds"])

    def test_a_training_that_diverges_is_found_behind_its_sample(self):
        row = self.rows("assay-resnet50", *SMALL, "--steps", "60", "--rate", "1000", "--precision", "fp16", "--loss-scale", "fixed:1", code=3)[0]
        self.assertRegex(row["reason"], r"training diverged: gradients are not finite in step \d+ \(with warm-up\)")

    def test_layers_say_that_they_contain_the_host(self):
        small = (*SMALL, "--direction", "inference")
        for words in (small, (*SMALL, "--steps", "3")):
            row = self.rows("assay-resnet50", *words, FAKE_GPU_HOLDS="0", **SLOW_HOST)[0]
            for layer in row["layers"]:
                self.assertRegex(layer.get("host_included", ""), "^the driver cannot hold the GPU back")
            # A graph is submitted by one call, its layers by many.
            self.assertIs(row["layers_sum"]["agrees"], False)
            self.assertGreater(row["layers_sum"]["fraction"], 2)
        # A queue that takes no whole group of layers, but the runs by which an algorithm is chosen: each that it does not take waits for the watch.
        row = self.rows("assay-resnet50", *small, FAKE_GPU_QUEUE="24", FAKE_GPU_WORK_US="8")[0]
        self.assertEqual(row["status"], "ok", row["reason"])
        told = [layer.get("host_included", "") for layer in row["layers"]]
        self.assertTrue(any("more launches than" in text for text in told), told)

    def test_ranks_begin_when_all_have_submitted(self):
        if not NCCL.exists() or MPIRUN is None:
            self.skipTest("built without NCCL or MPI")
        self.assert_of_device(self.row_of_ranks("assay-collectives", "--transport", "nccl", "--bytes", "400"))

    def row_of_ranks(self, program, *words, **variables):
        """Repeats a row of which a rank had no processor for so long that its GPU was let go, by the watch or outside of the samples."""
        for _ in range(5):
            row = self.rows(program, *words, before=(MPIRUN, "-n", "2"), preload=f"{PRELOAD}:{NCCL}", FAKE_GPU_COUNT="2", **MPI, **SLOW_STEPS, **variables)[0]
            why = row["time_s"].get("host_included", "a library waits")
            if row["time_s"].get("held") or "a library waits" not in why:
                break
        return row

    def test_ranks_train_on_two_streams(self):
        if not NCCL.exists() or MPIRUN is None:
            self.skipTest("built without NCCL or MPI")
        train = ("assay-resnet50", *SMALL, "--steps", "3", "--transport")
        took = []
        for pieces in (1, 501):
            row = self.row_of_ranks(*train, "nccl", FAKE_NCCL_PIECES=str(pieces))
            self.assert_of_device(row, self.pieces(row))
            self.assert_phases(row)
            took.append(row)
        # The update, on one stream, waits for the sum on the other, which nothing but the end of the backward pass hides.
        more = self.pieces(took[1]) - self.pieces(took[0])
        self.assertTrue(400 < more <= 500, more)
        added = [row["metrics"]["exposed_communication_percent"]["value"] for row in took]
        self.assertLess(added[0], 5)
        self.assertGreater(added[1], 25)
        row = self.row_of_ranks(*train, "auto")
        self.assertEqual(row["time_s"]["host_included"], "3 of 3 samples: the gradients are added in memory of the host")


main()
