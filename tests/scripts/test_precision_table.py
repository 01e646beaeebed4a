#!/usr/bin/env python3
"""scripts/precision-table puts the table of a result between the marks of a page; a suite says how many launches it wants."""
import json

from page_helper import PageTests
from run_helper import BIN, SOURCE, RunTest, group, main


class PrecisionTable(PageTests, RunTest):
    script, page = "precision-table", "precision.md"

    def make(self, page, code=0):
        return self.command(SOURCE / "scripts" / self.script, "--table-only", "--out", self.out, "--programs", BIN, "--page", page,
                            code=code)

    def small_suite(self, **more):
        """fp32 and bf16 of a convolution that is small enough for the reference, which computes in fp64."""
        return self.suite([group(["direct"], ["mb1ic8ih8oc8oh8kh3ph1"], backend="reference", precision=["fp32", "bf16"])], **more)

    def test_table_between_marks(self):
        self.run_suite(self.small_suite(launches=2), code=0)
        for text in self.made_twice():
            self.assertIn("fp32 storage, fp64 arithmetic", text)
            self.assertIn("bf16 storage, fp64 arithmetic", text)
            self.assertIn("No speedup", text, "no fp32 was computed in fp32")

    def test_a_suite_names_its_launches(self):
        self.run_suite(self.small_suite(launches=2), code=0)
        self.assertEqual(self.launches(), [0, 0, 1, 1])

    def test_the_command_line_stands_before_the_suite(self):
        self.run_suite(self.small_suite(launches=2), "--launches", "1", code=0)
        self.assertEqual(self.launches(), [0, 0])

    def test_each_kernel_is_studied_on_processor_and_gpu(self):
        devices = {}
        for each in json.loads((SOURCE / "suites" / "precision.json").read_text())["cases"]:
            devices.setdefault(each["benchmark"], set()).update(each.get("device", ["cpu"]))
        self.assertEqual(devices, {kernel: {"cpu", "gpu"} for kernel in ("conv", "gemm", "rnn")})

    def launches(self):
        return sorted(row["launch"] for row in json.loads((self.out / "result.json").read_text())["rows"])


if __name__ == "__main__":
    main()
