#!/usr/bin/env python3
"""scripts/collectives-table puts the tables of both results, with machine and date, between the marks of a page."""
from page_helper import PageTests
from run_helper import BIN, SOURCE, RunTest, main


class CollectivesTable(PageTests, RunTest):
    script = "collectives-table"

    def make(self, page, code=0):
        return self.command(SOURCE / "scripts" / self.script, "--table-only", "--out", self.folder, "--programs", BIN, "--page",
                            page, code=code)

    def test_tables_between_marks(self):
        # One rank needs no launcher; which results they are is the files' names.
        for ranks in (2, 4):
            self.command(BIN / "assay-collectives", "--transport", "mpi", "--bytes", "4", "--max-time", "0.01", "--out",
                         self.folder / f"r{ranks}.json", code=0)
        for text in self.made_twice():
            self.assertIn("<details><summary>2 ranks, ", text)
            self.assertEqual(text.count("<summary>"), 2)
            self.assertIn("<summary>4 ranks, ", text)
            self.assertEqual(len([line for line in text.splitlines() if line.startswith("| 4 |")]), 2, text)


if __name__ == "__main__":
    main()
