#!/usr/bin/env python3
"""A wrong result of any kernel of assay-stream makes its row incorrect, whenever it goes wrong."""
import json

from run_helper import BIN, RunTest, main

# A problem, its precisions, and the size of the fault in units of the output's RMS (integers need a whole one).
KERNELS = [("copy_n5000", "fp64,fp32", "1e-3"), ("scale_n5000", "fp64,fp32", "1e-3"), ("add_n5000", "fp64,fp32", "1e-3"),
           ("triad_n5000", "fp64,fp32", "1e-3"), ("read_n5000", "fp64,fp32", "1"), ("latency_n100", "fp64", "1"),
           ("fma_n64", "fp64,fp32,bf16,fp16,int8", "1e-2")]


class StreamFaults(RunTest):
    def run_kernel(self, problem, precision, algorithm, **more):
        file = self.folder / "result.json"
        file.unlink(missing_ok=True)
        self.command(BIN / "assay-stream", "--backend", "faulty", "--problem", problem, "--precision", precision, "--algorithm",
                     algorithm, "--threads", "1", "--max-time", "0.01", "--out", file,
                     env=self.environment(ASSAY_FAULT_INNER="native", ASSAY_FAULT_ALGORITHM="auto", **more))
        return [row for row in json.loads(file.read_text())["rows"] if row["status"] != "unsupported"]

    def test_wrong_elements_are_found(self):
        for problem, precisions, size in KERNELS:
            for fault in ("wrong_element", "wrong_element_late", "nan"):
                if fault == "nan" and problem.startswith("latency"):
                    continue  # integers have none
                for row in self.run_kernel(problem, precisions, fault, ASSAY_FAULT_SIZE=size):
                    if fault == "nan" and row["parameters"]["precision"] == "int8":
                        continue
                    with self.subTest(row["id"]):
                        self.assertEqual(row["status"], "incorrect")
                        self.assertIsNone(row["time_s"])
                        self.assertEqual(row["rates"], {})

    def test_without_a_fault_all_is_right(self):
        for problem, precisions, _ in KERNELS:
            for row in self.run_kernel(problem, precisions, "auto"):
                self.assertEqual(row["status"], "ok", row["reason"])
                self.assertTrue(row["verification"]["exact"])

    def test_rounded_inputs_are_found(self):
        # bf16 inputs where fp32 was asked for: integers would pass, full significands do not. (A sum's bound has room for
        # long chains of additions, and so for this.)
        for problem in ("copy_n5000", "scale_n5000", "add_n5000", "triad_n5000"):
            rows = self.run_kernel(problem, "fp32", "wrong_precision")
            self.assertEqual([row["status"] for row in rows], ["incorrect"], problem)


if __name__ == "__main__":
    main()
