#!/usr/bin/env python3
"""scripts/deepbench-table puts the table of a result, with its machine and date, between the marks of a page, and nothing else."""
from page_helper import PageTests
from run_helper import ASSAY, BIN, SOURCE, RunTest, group, main


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

    def test_every_part_finds_its_problems(self):
        lines = self.command(SOURCE / "scripts" / self.script, "--list", "--programs", BIN, code=0).stdout.splitlines()
        listed = self.command(ASSAY, "run", "deepbench-train", "--list", code=0).stdout.splitlines()
        self.assertEqual(set(lines) - set(listed), set(), "cases of the suite")
        self.assertEqual({line.split("/")[1 if line.startswith("gemm/") else 2] for line in lines}, {"fp32"})
        for start, kind, last in (("conv/forward/", "conv", 94), ("gemm/", "gemm", 40), ("rnn/", "rnn", 10)):
            with self.subTest(kind):
                wanted = {f"deepbench-train/train-{kind}-{i:03}" for i in range(1, last + 1)}
                of_part = [line for line in lines if line.startswith(f"{kind}/")]
                names = [line.split()[1].split(",") for line in of_part if line.startswith(start)]
                self.assertEqual(wanted - {name for some in names for name in some}, set())
                # The list has some problems twice: further names are names of the same case.
                self.assertEqual([some for some in names if not wanted & set(some)], [])
                self.assertEqual(len(names), len(of_part))

    def started(self):
        return next(event for event in self.journal() if event["event"] == "run")["started"]


if __name__ == "__main__":
    main()
