#!/usr/bin/env python3
"""scripts/analytics-table puts the rows of a run and a model of them between the marks of a page."""
from page_helper import PageTests
from run_helper import BIN, SOURCE, RunTest, main


class AnalyticsTable(PageTests, RunTest):
    script, page = "analytics-table", "analytics.md"

    def make(self, page, code=0):
        return self.command(SOURCE / "scripts" / self.script, "--table-only", "--out", self.out, "--programs", BIN, "--page", page,
                            code=code)

    def test_rows_and_model_between_marks(self):
        cases = [{"benchmark": name, "problem": ["n64d4", "n128d4", "n256d4"], "backend": ["reference"], "precision": ["fp64"],
                  "threads": [1]} for name in ("pca", "kmeans")]
        self.run_suite(self.suite(cases, launches=2), code=0)
        for text in self.made_twice():
            table, model = text.split("## A model of these rows")
            lines = table.splitlines()
            self.assertEqual(sum(line.startswith(("pca", "kmeans")) for line in lines), 2)  # a table for each
            self.assertEqual(sum(line.startswith(("| n64d4 |", "| n128d4 |", "| n256d4 |")) for line in lines), 6)
            for term in ("log(n)", "| benchmark", "observations"):
                self.assertIn(term, model)


if __name__ == "__main__":
    main()
