#!/usr/bin/env python3
"""scripts/deepbench-table puts the table of a result, with its machine and date, between the marks of a page, and nothing else."""
from page_helper import PageTests
from run_helper import BIN, SOURCE, RunTest, group, main


class DeepBenchTable(PageTests, RunTest):
    script, page = "deepbench-table", "deepbench.md"

    def make(self, page, code=0):
        return self.command(SOURCE / "scripts" / self.script, "--table-only", "--out", self.out, "--programs", BIN, "--page", page,
                            code=code)

    def test_table_between_marks(self):
        # The one of the list that is small enough for the reference.
        self.run_suite(self.suite([group(["direct"], ["deepbench-train/train-conv-041"], backend="reference", precision=["fp32"])]), code=0)
        for text in self.made_twice():
            rows = [line for line in text.splitlines() if line.startswith("| deepbench-train/train-conv-041")]
            self.assertEqual(len(rows), 1)
            self.assertIn("deepbench-v100", text)
            self.assertIn("baidu-research/DeepBench/blob/da81ba7/results/", text.replace("\\", ""), "the citation")
        self.assertIn(self.started()[:10], text.split("## ")[1].split("\n")[0])

    def started(self):
        return next(event for event in self.journal() if event["event"] == "run")["started"]


if __name__ == "__main__":
    main()
