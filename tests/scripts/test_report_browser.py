#!/usr/bin/env python3
# full: a headless Chromium opens the pages
"""`assay report` in a browser: nothing is asked of a network, no error, every plot is drawn, tables sort, it prints.

test_report_layout.py measures what it looks like."""

import json
import random
import re

from run_helper import main

from browser_helper import BrowserTest
import make_report_documents
import make_report_inputs
import make_results

SORT = {"ascending": lambda values: sorted(values), "descending": lambda values: sorted(values, reverse=True)}


class Browser(BrowserTest):
    def texts(self, selector):
        return self.page.locator(selector).all_inner_texts()

    def heading(self, section, title):
        return self.page.locator(f"#{section} thead button", has_text=title).first

    def test_every_plot_is_drawn(self):
        self.open(make_report_inputs.write(self.folder / "in"))
        ids = self.page.locator("main section").evaluate_all("all => all.map((one) => one.id)")
        self.assertEqual(
            ids,
            [
                "summary",
                "acceptance",
                "nodes",
                "roofline",
                "precision",
                "collectives",
                "scaling",
                "convergence",
                "history",
                "model",
                "comparison",
                "speedups",
                "rows",
                "environments",
                "files",
            ],
        )
        plots = self.page.locator(".plot")
        self.assertEqual(plots.count(), 22)
        for i in range(plots.count()):
            plots.nth(i).scroll_into_view_if_needed()
            self.page.wait_for_function(
                "i => document.querySelectorAll('.plot')[i].querySelector('.trace, .hm, .heatmaplayer image')", arg=i
            )
        for name in ("roofline", "precision", "collectives", "scaling", "convergence", "nodes", "history", "model", "acceptance"):
            self.assertGreater(self.page.locator(f"#{name} .plot svg").count(), 0, name)
        # Another series is drawn when it is chosen.
        before = self.page.locator("#history .plot").last.get_attribute("aria-label")
        self.page.locator("#history select.pick").select_option(index=1)
        last = self.page.locator("#history .plot").last
        self.assertNotEqual(last.get_attribute("aria-label"), before)
        last.scroll_into_view_if_needed()
        last.locator(".trace").first.wait_for(state="attached")
        self.quiet()

    def test_trainings_to_an_accuracy(self):
        """Two plots over the images of a step: what is reached is a point, what is not a cross in a strip above; a table has both."""
        self.open(make_report_inputs.write(self.folder / "in")[:1])
        self.unfold()
        self.draw_all()
        plots = self.page.locator("#convergence .plot")
        self.assertEqual(plots.count(), 2)
        for i in range(2):
            drawn = plots.nth(i).evaluate("one => one.data.map((series) => [series.mode, [...series.x], [...series.y]])")
            self.assertEqual([(mode, x) for mode, x, _ in drawn], [("lines+markers", [32, 64]), ("markers", [128])])
            axes = plots.nth(i).evaluate("one => [one.data[1].yaxis, ...[one._fullLayout.yaxis, one._fullLayout.yaxis2].map((axis) => axis._offset)]")
            self.assertEqual(axes[0], "y2", "a training that does not reach the target has a number")
            self.assertLess(axes[2], axes[1] - 10, "its strip is not above the axis")
            self.assertIn("not reached", plots.nth(i).locator(".y2tick").all_text_contents())
        rows = self.texts("#convergence tbody tr")
        self.assertEqual(len(rows), 3)
        for row, reached in zip(sorted(rows, key=lambda text: "not reached" in text), ("2 of 2", "2 of 2", "0 of 2")):
            self.assertIn(reached, row)
        self.quiet()

    def test_a_poor_line_of_a_collective_is_not_drawn(self):
        """The rule is the terminal's: nothing is shown of R\u00b2 below 0.9, and nobody is called the fastest beside
        it; the page says so."""
        document, noise = make_results.document(rows=1, launches=1), random.Random("poor")
        for algorithm, outlier in (("ring", 40), ("tree", 1)):
            for size in (2**10, 2**14, 2**18, 2**22):
                seconds = (5e-6 + size / 2.4e10) * (outlier if size == 2**14 else 1)
                row = make_report_inputs.collective_row("allreduce", "mpi", "fp32", size, 8, 2, seconds, noise)
                row["id"] = row["id"].replace("/ring/", f"/{algorithm}/")
                row["parameters"]["algorithm"] = row["executed"]["algorithm"] = algorithm
                row["id_form"] = make_results.id_form(row)
                document["rows"].append(row)
        file = self.folder / "in.json"
        file.write_text(json.dumps(document))
        self.open([file])
        self.unfold()
        self.draw_all()
        modes = self.page.locator("#collectives .plot").first.evaluate("one => one.data.map((series) => series.mode)")
        self.assertEqual(sorted(modes), ["lines", "lines+markers", "lines+markers"], "a line of each of the two algorithms")
        ring, tree = sorted(self.texts("#collectives tbody tr"), key=lambda text: "tree" in text)
        self.assertIn("R\u00b2 below 0.9", ring)
        self.assertNotIn("below 0.9", tree)
        for row in (ring, tree):
            self.assertIn("withheld", row)
        said = self.page.locator("#collectives").inner_text()
        self.assertIn("with R\u00b2 below 0.9, has no line", said)
        self.assertIn("No algorithm is called fastest", said)
        self.quiet()

    def test_marks_of_ceilings_and_disturbed_rows(self):
        """The mark is the terminal's: ^ above the ceiling. Winograd may lie there, and the caption says why."""
        document, peak = make_results.document(rows=8, launches=1), 1e12
        for i, row in enumerate(document["rows"][:4]):
            flops = row["problem"]["flops"]
            row["problem"]["bytes"] = flops / 1e3
            median = make_report_inputs.timed(row, flops / peak / (1.1, 1.8, 0.5, 0.5)[i], random.Random(i))
            done = flops / 2.25 if i == 1 else flops
            row["executed"]["algorithmic_flops"] = done
            row["rates"] = {"flops_per_s": flops / median, "bytes_per_s": flops / 1e3 / median, "algorithmic_flops_per_s": done / median}
            fraction = done / median / peak
            row["ceiling"] = {"flops_per_s": peak, "bytes_per_s": 1e11, "fraction": fraction, "exceeded": fraction > 1.03, "bound_by": "compute"}
            row["ceiling_reason"] = None
        for row in document["rows"][2:5]:
            row["time_s"]["stolen"] = 0.5
        file = self.folder / "in.json"
        file.write_text(json.dumps(document))
        self.open([file])
        self.unfold()
        for section in ("roofline", "rows"):
            marked = [text for text in self.texts(f"#{section} tbody tr") if re.search(r"1(09|10)\.\d %\^", text)]
            self.assertEqual(len(marked), 1, section)
            self.assertEqual(sum("^" in text for text in self.texts(f"#{section} tbody tr")), 1)
            self.assertIn("^ marks a row that was faster than its ceiling", self.page.locator(f"#{section}").inner_text())
        self.assertIn("Winograd may lie above its line: its rate counts the operations of the direct convolution",
                      self.page.locator("#roofline").inner_text())
        box = self.page.locator(".verdict")
        self.assertEqual([text.strip() for text in self.texts(".verdict .word, .verdict a.badge")], ["\u2713 VERIFIED", "! 3 disturbed"])
        word, badge = box.locator(".word").bounding_box(), box.locator("a.badge").bounding_box()
        self.assertLess(badge["x"] - word["x"] - word["width"], 60, "the count is not beside the verdict")
        # A page without such rows says nothing of them.
        for row in document["rows"][:5]:
            row["time_s"].pop("stolen", None)
        document["rows"] = document["rows"][2:]
        file.write_text(json.dumps(document))
        self.open([file])
        self.assertEqual(self.texts(".verdict a.badge"), [])
        for text in ("Winograd", "^ marks"):
            self.assertNotIn(text, self.page.locator("main").inner_text())
        self.quiet()

    def test_markup_of_a_file_is_text(self):
        self.open(make_report_inputs.write(self.folder / "in"))
        self.draw_all()
        self.assertEqual(self.page.locator("main img, main script, main u, main i").count(), 0)
        self.assertEqual(self.page.locator("main b").evaluate_all("all => all.filter((b) => !b.closest('.tile')).length"), 0)
        self.assertIn(make_report_documents.HOSTILE, self.page.locator("#summary").inner_text())
        self.assertIn("driver <b>550</b>", self.page.locator("#history .plot").first.inner_text())
        self.quiet()

    def test_tables_sort(self):
        self.open(make_report_inputs.write(self.folder / "in")[:1])
        self.unfold()
        # Numbers sort as numbers: nanoseconds before milliseconds. The values are in the tooltips.
        self.heading("precision", "Speedup over fp32").click()
        for direction in ("descending", "ascending"):
            column = self.page.locator("#precision thead th", has_text="Speedup over fp32")
            self.assertEqual(column.get_attribute("aria-sort"), direction)
            place = column.evaluate("one => [...one.parentNode.children].indexOf(one) + 1")
            values = [
                float(v)
                for v in self.page.locator(f"#precision tbody td:nth-child({place})").evaluate_all("all => all.map((td) => td.title)")
            ]
            self.assertEqual(len(values), 25)
            self.assertEqual(values, SORT[direction](values))
            self.heading("precision", "Speedup over fp32").click()
        seen = self.texts("#rows tbody tr")
        self.page.locator("#rows button", has_text="Next").first.click()
        self.assertNotEqual(seen, self.texts("#rows tbody tr"))
        self.quiet()

    def test_it_works_with_the_keyboard(self):
        self.open(make_report_inputs.write(self.folder / "in")[:1])
        self.page.keyboard.press("Tab")
        self.assertEqual(self.page.evaluate("document.activeElement.className"), "skip")
        self.page.keyboard.press("Enter")
        self.assertEqual(self.page.evaluate("document.activeElement.id"), "main")
        self.heading("speedups", "Row over other").focus()
        self.assertNotEqual(self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "none", "focus cannot be seen")
        for direction in ("descending", "ascending"):
            self.page.keyboard.press("Enter" if direction == "descending" else "Space")
            self.assertEqual(self.page.evaluate("document.activeElement.parentNode.getAttribute('aria-sort')"), direction)
        self.assertEqual(self.page.evaluate("document.querySelectorAll('th:not([scope])').length"), 0)
        self.quiet()

    def test_every_ratio_is_a_speedup(self):
        """One direction everywhere: who over whom, above 1 the first-named is faster."""
        self.open(make_report_inputs.write(self.folder / "in"))
        for section, title, words in (
            ("comparison", "New over base", "Speedup: new over base, above 1 new is faster"),
            ("acceptance", "Node over the others", "Speedup: node over the median of the other nodes, above 1 node is faster"),
            ("nodes", "Node over the others", "Speedup: node over the median of the other nodes, above 1 node is faster"),
            ("history", "Over anchored", "Speedup: the latest over the baseline, above 1 the latest is faster"),
            ("speedups", "Row over other", "Speedup: this row over the other system, above 1 this row is faster"),
        ):
            self.assertEqual(self.heading(section, title).count(), 1, section)
            self.assertIn(words, self.page.locator(f"#{section}").inner_text())
        self.assertNotIn("above 1 is slower", self.page.locator("main").inner_text())
        slow = self.page.locator("#acceptance tbody tr", has_text="PERF-FAIL")
        self.assertIn("0.926\u00d7", slow.inner_text())
        self.quiet()

    def test_it_prints(self):
        self.open(make_report_inputs.write(self.folder / "in"))
        drawn = "document.querySelectorAll('.plot .main-svg').length"
        before = self.page.evaluate(drawn)
        self.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.page.wait_for_function(
            "() => document.querySelectorAll('.plot.js-plotly-plot').length === document.querySelectorAll('.plot').length"
        )
        self.assertGreater(self.page.evaluate(drawn), before, "plots out of view are not drawn for print")
        self.assertEqual(self.page.locator("#rows tbody tr").count(), 158, "the tables are not complete")
        self.assertEqual(self.page.locator("details.fold:not([open])").count(), 0, "what is folded is not printed")
        self.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.page.locator("#rows .table:not(details *) tbody tr").count(), 56)
        self.assertEqual(self.page.locator("details.fold[open]").count(), 0)
        pdf = self.page.pdf(landscape=True)
        self.assertTrue(pdf.startswith(b"%PDF-"))
        self.assertGreater(len(pdf), 100000)
        self.quiet()

    def test_a_document_alone(self):
        file = self.folder / "in.json"
        file.write_text(json.dumps(make_report_documents.model()))
        self.open([file])
        self.assertEqual(self.page.locator("main section").evaluate_all("all => all.map((one) => one.id)"), ["summary", "model", "files"])
        self.assertEqual(self.page.locator(".problem").count(), 0)
        self.quiet()


if __name__ == "__main__":
    main(verbosity=2)
