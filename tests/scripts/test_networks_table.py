#!/usr/bin/env python3
"""scripts/networks-table puts the ratios of the documents' networks between the marks of a page."""
import json

from page_helper import PageTests
from run_helper import SOURCE, RunTest, main


class NetworksTable(PageTests, RunTest):
    script, page = "networks-table", "networks.md"

    def make(self, page, code=0):
        return self.command(SOURCE / "scripts" / self.script, "--table-only", "--out", self.out, "--page", page, code=code)

    def test_ratios_between_marks(self):
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "ratios.json").write_text(json.dumps({"ratios": [
            {"ratio": "PyTorch's over ours", "instruction_set": "avx2", "relation": ">=", "target": 1.3, "verdict": "missed", "value": 1.2612,
             "interval": [1.24, 1.29], "n": 10}]}))
        for text in self.made_twice():
            self.assertIn("| PyTorch's over ours | 1.26 | 1.24 .. 1.29 | >= 1.3 | missed | 10 |", text)
            self.assertIn("cores, avx2), 2", text)


if __name__ == "__main__":
    main()
