#!/usr/bin/env python3
"""The suites of the quickstart show what Assay is for: native beside oneDNN, the machine's limits, an allreduce on two ranks."""
import json
import re

from run_helper import BIN, SOURCE, RunTest, main


class SmokeSuites(RunTest):
    def cases(self, benchmark, suite):
        listed = self.command(BIN / f"assay-{benchmark}", "--suite", SOURCE / "suites" / f"{suite}.json", "--list", "--json", code=0)
        return [case["settings"] for case in json.loads(listed.stdout)]

    def test_native_beside_onednn(self):
        cases = self.cases("conv", "smoke")
        for precision in ("fp32", "bf16"):
            problems = {backend: {case["problem"] for case in cases if (case["backend"], case["precision"], case["direction"]) ==
                                  (backend, precision, "forward")} for backend in ("native", "onednn")}
            self.assertLessEqual(problems["native"], problems["onednn"])
            self.assertTrue({"mb16ic64ih112oc128oh112kh3ph1", "mb8ic64ih112oc128oh112kh3ph1"} <= problems["native"], "CORAL-2")

    def test_what_bounds_the_machine(self):
        found = {(case["problem"], case["precision"]) for case in self.cases("stream", "smoke")}
        self.assertEqual(found, {("triad_n67108864", "fp64"), ("fma_n65536", "fp32"), ("fma_n65536", "bf16")})

    def test_a_matrix_product_a_recurrent_network_and_principal_components(self):
        self.assertEqual({case["backend"] for case in self.cases("gemm", "smoke")}, {"onednn", "blas"})
        self.assertEqual({case["backend"] for case in self.cases("rnn", "smoke")}, {"onednn", "native"})
        self.assertEqual([(case["algorithm"], case["backend"], case["problem"]) for case in self.cases("pca", "smoke")],
                         [("gram", "native", "n16384d64")])

    def test_a_first_look_at_a_gpu(self):
        listed = self.command(BIN / "assay", "run", SOURCE / "suites" / "smoke-gpu.json", "--list", code=0).stdout.split("\n")
        for case in ("stream/fp64/.*matmul", "stream/int8/.*matmul", "stream/fp8_e4m3/.*matmul", "stream/fp64/.*triad", "conv/forward/fp32",
                     "conv/forward/tf32", "conv/forward/fp16", "conv/forward/bf16", "rnn/.*/lstm", "resnet50/training", "resnet50/inference",
                     "pca/", "copy/pinned/gpu0", "copy/gpu0/pinned"):
            self.assertTrue(any(re.match(case, line) for line in listed), case)
        timing = json.loads((SOURCE / "suites" / "smoke-gpu.json").read_text())["timing"]
        self.assertLess(timing["max_time"] * len(listed), 10, "the rest of three minutes is for set-up and proof")
        self.assertGreaterEqual(timing["timeout"], 120, "a proof that takes longer than expected is no failure: --walltime ends the run")

    def test_large_networks_are_short_or_left_out(self):
        large = "candle-p1b1:i60483w2000n600"  # 10 GB in training
        for file in sorted((SOURCE / "suites").glob("*.json")):
            if not any(case["benchmark"] == "train" for case in json.loads(file.read_text())["cases"]):
                continue
            for case in self.cases("train", file.stem):
                if case["problem"] == large:
                    self.assertFalse(file.stem.startswith("smoke"))
                    self.assertEqual((case["steps"], case["precision"]), ("3", "fp32"), file.stem)

    def test_allreduce_on_two_ranks(self):
        self.assertEqual(json.loads((SOURCE / "suites" / "smoke-allreduce.json").read_text())["launch"], {"ranks": 2})
        cases = self.cases("collectives", "smoke-allreduce")
        self.assertEqual({case["collective"] for case in cases}, {"allreduce"})
        self.assertEqual({case["algorithm"] for case in cases}, {"library", "ring", "halving_doubling", "shared_memory"})
        self.assertEqual(len({case["problem"] for case in cases}), 3)


if __name__ == "__main__":
    main()
