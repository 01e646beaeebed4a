#!/usr/bin/env python3
"""scripts/collectives-table puts the tables of both results, with machine and date, between the marks of a page."""

from run_helper import BIN, SOURCE, RunTest, main

BEGIN, END = "<!-- scripts/collectives-table: begin -->\n", "<!-- scripts/collectives-table: end -->\n"


class CollectivesTable(RunTest):
    def make(self, page, code=0):
        return self.command(SOURCE / "scripts" / "collectives-table", "--table-only", "--out", self.folder, "--programs", BIN, "--page",
                            page, code=code)

    def test_tables_between_marks(self):
        # One rank needs no launcher; which results they are is the files' names.
        for ranks in (2, 4):
            self.command(BIN / "assay-collectives", "--transport", "mpi", "--bytes", "4", "--max-time", "0.01", "--out",
                         self.folder / f"r{ranks}.json", code=0)
        page = self.folder / "page.md"
        page.write_text(f"before\n{BEGIN}old\n{END}after\n")
        for _ in range(2):  # again: the tables are replaced
            self.make(page)
            text = page.read_text()
            self.assertTrue(text.startswith(f"before\n{BEGIN}<details><summary>2 ranks, "))
            self.assertTrue(text.endswith(f"</details>\n{END}after\n"))
            self.assertNotIn("old", text)
            self.assertEqual(text.count("<summary>"), 2)
            self.assertIn("<summary>4 ranks, ", text)
            self.assertEqual(len([line for line in text.splitlines() if line.startswith("| 4 |")]), 2, text)

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
