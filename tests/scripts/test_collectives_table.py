#!/usr/bin/env python3
"""scripts/collectives-table puts the tables of both results, with the conditions, between the marks of a page, and no time of more ranks
than cores."""
import json

from page_helper import PageTests
from run_helper import BIN, SOURCE, RunTest, main


class CollectivesTable(PageTests, RunTest):
    script, page = "collectives-table", "collectives.md"

    def make(self, page, code=0):
        return self.command(SOURCE / "scripts" / self.script, "--table-only", "--out", self.folder, "--programs", BIN, "--page",
                            page, code=code)

    def results(self, cores):
        # One rank needs no launcher; which results they are is the files' names.
        for ranks in (2, 4):
            file = self.folder / f"r{ranks}.json"
            self.command(BIN / "assay-collectives", "--transport", "mpi", "--bytes", "4", "--max-time", "0.01", "--out", file, code=0)
            result = json.loads(file.read_text())
            result["environments"][0]["hardware"]["cores"] = cores
            result["environments"][0]["volatile"]["load"] = [0.25, 0, 0]
            file.write_text(json.dumps(result))

    def test_tables_between_marks(self):
        self.results(cores=4)
        for text in self.made_twice():
            self.assertIn("## 2 ranks, ", text)
            self.assertEqual(text.count("## "), 2)
            self.assertIn("## 4 ranks, ", text)
            self.assertEqual(text.count(", load 0.2 before it began\n"), 2)
            self.assertEqual(len([line for line in text.splitlines() if line.startswith("| 4 |")]), 2, text)

    def test_more_ranks_than_cores_show_no_time(self):
        self.results(cores=3)
        for text in self.made_twice():
            shown, hidden = text.split("## 4 ranks, ")
            self.assertEqual(len([line for line in shown.splitlines() if line.startswith("| 4 |")]), 1, text)
            self.assertNotIn("|", hidden)
            self.assertIn("4 ranks on 3 cores measure the scheduler, so no time is shown. What the rows say of the results: 1 ok.", hidden)


if __name__ == "__main__":
    main()
