#!/usr/bin/env python3
"""What a sample of a GPU contains: the time of the device, and not that of a host that submits slowly. The fake GPU
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
PROBLEM = ("--problem", "mb1ic4ih6oc4oh4kh3", "--algorithm", "gemm")
FEW_COLD = ("--problem", "mb1ic16ih18oc16oh16kh3", "--algorithm", "gemm")  # so large that few sets are larger than the cache
WORK_S, SUBMIT_S = 8e-6, 200e-6
SLOW_HOST = {"FAKE_GPU_WORK_US": "8", "FAKE_GPU_SUBMIT_US": "200"}


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
        row = self.rows("assay-rnn", "--backend", "cuda", "--problem", "lstm:8-2-3", FAKE_GPU_QUEUE="2", **SLOW_HOST)[0]
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertRegex(row["time_s"]["host_included"], r"^\d+ of \d+ samples: a library waits for the GPU within a run, or a run has more")

    @staticmethod
    def pieces(row):
        return round(row["time_s"]["median"] / WORK_S)

    def test_a_network_and_its_layers(self):
        slow_host = {**SLOW_HOST, "FAKE_GPU_SUBMIT_US": "20"}
        small = ("--problem", "d18w4s32c5", "--batch", "2", "--threads", "1", "--backend", "cuda")
        row = self.rows("assay-resnet50", *small, "--direction", "inference", **slow_host)[0]
        self.assert_of_device(row, self.pieces(row))
        layers = sum(layer["seconds"] * layer["runs"] for layer in row["layers"])
        self.assertAlmostEqual(layers / row["time_s"]["median"], 1, delta=0.1)
        self.assertIs(row["layers_sum"]["agrees"], True)
        self.assertFalse(any("host_included" in layer for layer in row["layers"]))
        # A step of training reads its loss: the host waits, and the row says so.
        row = self.rows("assay-resnet50", *small, "--steps", "2", **slow_host)[0]
        self.assertIn(": a run waits for the GPU", row["time_s"]["host_included"])
        for layer in row["layers"]:
            pieces = layer["seconds"] / WORK_S
            self.assertAlmostEqual(pieces, round(pieces), delta=1e-3 * pieces)

    def test_layers_say_that_they_contain_the_host(self):
        small = ("--problem", "d18w4s32c5", "--batch", "2", "--threads", "1", "--backend", "cuda", "--direction", "inference")
        row = self.rows("assay-resnet50", *small, FAKE_GPU_HOLDS="0", **SLOW_HOST)[0]
        for layer in row["layers"]:
            self.assertRegex(layer.get("host_included", ""), "^the driver cannot hold the GPU back")
        # A queue that takes no whole group of layers: the device is let go.
        row = self.rows("assay-resnet50", *small, FAKE_GPU_QUEUE="20", FAKE_GPU_WORK_US="8")[0]
        self.assertEqual(row["status"], "ok", row["reason"])
        told = [layer.get("host_included", "") for layer in row["layers"]]
        self.assertTrue(any("more launches than" in text for text in told), told)

    def test_ranks_begin_when_all_have_submitted(self):
        if not NCCL.exists() or MPIRUN is None:
            self.skipTest("built without NCCL or MPI")
        mpi = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        row = self.rows("assay-collectives", "--transport", "nccl", "--bytes", "400", before=(MPIRUN, "-n", "2"), preload=f"{PRELOAD}:{NCCL}",
                        FAKE_GPU_COUNT="2", **mpi, **{**SLOW_HOST, "FAKE_GPU_SUBMIT_US": "20"})[0]
        self.assert_of_device(row)


main()
