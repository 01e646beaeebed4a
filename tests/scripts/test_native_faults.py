#!/usr/bin/env python3
"""A wrong element, a late one, NaN, infinity and a wrong precision are seen in each algorithm, direction and storage of the convolutions."""
import re

from run_helper import CONV, SMALL, RunTest, group, last_part, main

PROBLEM = "mb2ic32ih8oc32oh8kh3ph1"
EVERYWHERE = ["forward", "bwd_data", "bwd_weights"]
NATIVE = {"implicit_gemm": EVERYWHERE, "winograd": EVERYWHERE[:2], "winograd_2x2": EVERYWHERE[:2], "winograd_4x4": EVERYWHERE[:2]}
# Their transformed operands are rounded to 16 bits: an element is wrong by more before it shows, and a wrong precision is lost in it.
NARROW = {("winograd_2x2_16bit", "fp16"): "0.05", ("winograd_2x2_16bit", "bf16"): "0.5", ("winograd_4x4_16bit", "fp16"): "1"}
FAULTS = ["wrong_element", "wrong_element_late", "nan", "inf", "wrong_precision"]
# Part of the outputs' RMS by which one is wrong: a few times what rounding the output allows for. bf16's inputs are what
# "wrong precision" would make of them.
SIZES = {"fp32": "1e-3", "fp16": "0.02", "bf16": "0.1"}


class ConvolutionFaults(RunTest):
    def spoilt(self, backend, algorithm, precision, directions, size=None, without=(), **more):
        """Rows of each fault, and of none, by an algorithm of a backend."""
        self.out = self.folder / f"{backend}-{algorithm}-{precision}"
        faults = [fault for fault in FAULTS if (fault, precision) != ("wrong_precision", "bf16") and fault not in without]
        suite = self.suite([group([*faults, algorithm], [PROBLEM], direction=directions, precision=[precision], **more)],
                           name=self.out.name)
        # Late is after the runs of the first check: on a busy machine the timing may be of one run alone.
        self.run_suite(suite, env=self.environment(ASSAY_FAULT_INNER=backend, ASSAY_FAULT_ALGORITHM=algorithm,
                                                   ASSAY_FAULT_SIZE=size or SIZES[precision], ASSAY_FAULT_AFTER="2"))
        rows = self.rows()
        self.assertEqual(len(rows), len(directions) * (len(faults) + 1))
        return rows

    def check(self, rows, algorithm):
        for row in rows:
            with self.subTest(row["id"]):
                honest = last_part(row) == algorithm
                self.assertEqual(row["status"], "ok" if honest else "incorrect", row["reason"])
                self.assertEqual(row["verification"]["passed"], honest)

    def test_each_algorithm_of_native(self):
        for precision in SIZES:
            for algorithm, directions in NATIVE.items():
                self.check(self.spoilt("native", algorithm, precision, directions), algorithm)

    def test_transformed_operands_of_16_bits(self):
        for (algorithm, precision), size in NARROW.items():
            self.check(self.spoilt("native", algorithm, precision, EVERYWHERE[:2], size, ["wrong_precision"]), algorithm)

    def test_what_a_bound_cannot_decide_is_unsupported(self):
        rows = self.spoilt("native", "winograd_4x4_16bit", "bf16", EVERYWHERE[:2], "1", ["wrong_precision", "nan", "inf"])
        for row in rows:
            self.assertEqual(row["status"], "unsupported", row["id"])
            self.assertIn("cannot tell a wrong result from a right one", row["reason"])

    def test_two_threads(self):
        self.check(self.spoilt("native", "winograd", "fp32", EVERYWHERE[:2], threads=[2]), "winograd")
        self.check(self.spoilt("native", "implicit_gemm", "fp32", EVERYWHERE, threads=[2]), "implicit_gemm")

    def test_no_algorithm_of_native_is_left_out(self):
        done = self.command(CONV, "--problem", SMALL, "--backend", "native", "--algorithm", "direct", code=6)
        names = re.search(r"its algorithms are ([a-z0-9_, ]+)\)", done.stdout)
        self.assertIsNotNone(names, done.stdout)
        narrow = {algorithm for algorithm, _ in NARROW}
        self.assertEqual(set(names[1].split(", ")), set(NATIVE) | narrow)
        for algorithm in sorted((set(NATIVE) | narrow) - {"implicit_gemm"}):
            done = self.command(CONV, "--problem", PROBLEM, "--backend", "native", "--algorithm", algorithm, "--direction",
                                "bwd_weights", "--precision", "fp16", code=6)
            self.assertIn("unsupported: ", done.stdout)

    def test_what_onednn_has(self):
        for precision in SIZES:
            for algorithm in ("direct", "winograd"):
                for direction in EVERYWHERE:
                    rows = self.spoilt("onednn", algorithm, precision, [direction])
                    states = {row["status"] for row in rows}
                    if "unsupported" in states:  # by this processor or in this version: then of all of them
                        self.assertEqual(states, {"unsupported"})
                        self.assertNotEqual((algorithm, precision), ("direct", "fp32"))
                    else:
                        self.check(rows, algorithm)


if __name__ == "__main__":
    main(verbosity=2)
