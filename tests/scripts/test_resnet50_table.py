#!/usr/bin/env python3
"""scripts/resnet50-table puts the rows of a run and the ratios to PyTorch between the marks of a page."""
import json

from page_helper import PageTests
from run_helper import BIN, SOURCE, RunTest, main


class Resnet50Table(PageTests, RunTest):
    script, page = "resnet50-table", "resnet50.md"

    def make(self, page, code=0):
        return self.command(SOURCE / "scripts" / self.script, "--table-only", "--out", self.out, "--programs", BIN, "--page", page,
                            code=code)

    def test_rows_and_ratios_between_marks(self):
        suite = self.suite([{"benchmark": "resnet50", "problem": ["d18w8s32c5"], "batch": ["4"], "threads": [1], "backend": ["native"],
                             "precision": ["fp32"], "direction": ["training", "inference"]}])
        self.run_suite(suite, code=0)
        (self.out / "ratios.json").write_text(json.dumps({"ratios": [
            {"ratio": "PyTorch's over ours", "relation": ">=", "target": 1.3, "verdict": "met", "value": 1.3612, "interval": [1.34, 1.39], "n": 10},
            {"ratio": "another", "relation": "<=", "target": 1, "verdict": "unavailable", "reason": "no PyTorch"}]}))
        for text in self.made_twice():
            self.assertIn("| PyTorch's over ours | 1.36 | 1.34 .. 1.39 | >= 1.3 | met | 10 |", text)
            self.assertIn("unavailable: no PyTorch", text)
            for word in ("training", "inference", "d18w8s32c5"):
                self.assertIn(word, text)


if __name__ == "__main__":
    main()
