#!/usr/bin/env python3
"""scripts/deepbench-table puts the table of a result, with its machine and date, between the marks of a page, and nothing else."""

from run_helper import BIN, SOURCE, RunTest, group, main

BEGIN, END = "<!-- scripts/deepbench-table: begin -->\n", "<!-- scripts/deepbench-table: end -->\n"


class DeepBenchTable(RunTest):
    def make(self, page, code=0):
        return self.command(SOURCE / "scripts" / "deepbench-table", "--table-only", "--out", self.out, "--programs", BIN, "--page", page,
                            code=code)

    def test_table_between_marks(self):
        # The one of the list that is small enough for the reference.
        self.run_suite(self.suite([group(["direct"], ["deepbench-train/train-conv-041"], backend="reference", precision=["fp32"])]), code=0)
        page = self.folder / "page.md"
        page.write_text(f"before\n{BEGIN}old\n{END}after\n")
        for _ in range(2):  # again: the table is replaced
            self.make(page)
            text = page.read_text()
            self.assertTrue(text.startswith(f"before\n{BEGIN}<details><summary>"))
            self.assertTrue(text.endswith(f"</details>\n{END}after\n"))
            self.assertNotIn("old", text)
            rows = [line for line in text.splitlines() if line.startswith("| deepbench-train/train-conv-041")]
            self.assertEqual(len(rows), 1)
            self.assertIn("deepbench-v100", text)
            self.assertIn("DeepBench@", text, "the citation")
        self.assertIn(self.started()[:10], text.split("</summary>")[0])

    def started(self):
        return next(event for event in self.journal() if event["event"] == "run")["started"]

    def test_a_page_without_marks_is_left_alone(self):
        page = self.folder / "page.md"
        page.write_text("text\n")
        self.assertIn("lacks the marks", self.make(page, code=1).stderr)
        self.assertEqual(page.read_text(), "text\n")

    def test_the_readme_has_the_marks(self):
        text = (SOURCE / "README.md").read_text()
        self.assertEqual((text.count(BEGIN), text.count(END)), (1, 1))


if __name__ == "__main__":
    main()
