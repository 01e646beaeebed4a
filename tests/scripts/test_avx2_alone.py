#!/usr/bin/env python3
"""Processors without 16-bit instructions, as ONEDNN_MAX_CPU_ISA and ASSAY_NATIVE_TARGET make one: no row calls arithmetic in fp32
bf16 or fp16."""
import json
import platform
import unittest

from run_helper import BIN, RunTest, main

LSTM = ("assay-rnn", "--problem", "lstm:32-4-5", "--direction", "forward_inference,bwd", "--input", "linear")
GEMM = ("assay-gemm", "--problem", "m32n32k32")


@unittest.skipUnless(platform.machine() == "x86_64", "limits x86's instructions")
class Avx2Alone(RunTest):
    def rows(self, backend, program, *words):
        file = self.folder / "result.json"
        file.unlink(missing_ok=True)
        environment = self.environment(ONEDNN_MAX_CPU_ISA="AVX2", ASSAY_NATIVE_TARGET="AVX2")
        self.command(BIN / program, "--backend", backend, *words, "--precision", "fp32,bf16,fp16", "--threads", 1, "--max-time", 0.01,
                     "--out", file, env=environment)
        return json.loads(file.read_text())["rows"]

    def test_no_row_is_of_16_bit_arithmetic(self):
        for backend, words in (("onednn", GEMM), ("onednn", LSTM), ("native", LSTM)):
            for row in self.rows(backend, *words):
                with self.subTest(row["id"]):
                    self.assertIn(row["status"], ("ok", "unsupported"), row["reason"])
                    if row["status"] == "unsupported":
                        self.assertTrue(row["reason"])
                        continue
                    # null: the name of the implementation does not say; it is never said to be the precision's.
                    self.assertIn(row["executed"]["compute"], ("fp32",) if backend == "native" else ("fp32", None))
                    self.assertNotRegex(row["executed"]["implementation"], "(?i)avx512|avx10|amx|avx3")


if __name__ == "__main__":
    main()
