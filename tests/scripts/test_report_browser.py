#!/usr/bin/env python3
# full: a headless Chromium opens the pages
"""`assay report` in a browser: nothing is asked of a network, no error, every plot is drawn, tables sort and filter, it prints.

Chromium is Debian's, its client playwright: scripts/bootstrap --full brings both."""

import glob
import json
import shutil
import sys
import unittest

from run_helper import ASSAY, SOURCE, RunTest, main

sys.path.insert(0, str(SOURCE / "tests" / "support"))
sys.path += glob.glob(str(SOURCE / ".deps" / "browser" / "lib" / "python3*" / "site-packages"))
import make_report_documents  # noqa: E402
import make_report_inputs  # noqa: E402

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

WAIT = 60000  # milliseconds until a wait is given up
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SORT = {"ascending": lambda values: sorted(values), "descending": lambda values: sorted(values, reverse=True)}


@unittest.skipUnless(sync_playwright and CHROMIUM, "no Chromium or no playwright (scripts/bootstrap --full brings them)")
class Browser(RunTest):
    def setUp(self):
        super().setUp()
        self.said, self.asked = [], []
        player = sync_playwright().start()
        self.addCleanup(player.stop)
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        self.addCleanup(browser.close)
        self.page = browser.new_context(offline=True, viewport={"width": 1400, "height": 900}).new_page()
        self.page.set_default_timeout(WAIT)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("a dialog: " + dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, files):
        out = self.folder / "report.html"
        self.command(ASSAY, "report", *files, "-o", out, code=0)
        self.page.goto(out.as_uri())
        self.page.wait_for_selector("html[data-ready]", state="attached")
        self.address = out.as_uri()

    def quiet(self):
        self.assertEqual(self.said, [], "the console is not empty")
        self.assertEqual([url for url in self.asked if url != self.address and not url.startswith(("data:", "blob:"))], [])

    def cells(self, section, column):
        return self.page.locator(f"#{section} table").first.locator(f"tbody td:nth-child({column})").all_inner_texts()

    def heading(self, section, title):
        return self.page.locator(f"#{section} thead button", has_text=title).first

    def test_every_plot_is_drawn(self):
        self.open(make_report_inputs.write(self.folder / "in"))
        ids = self.page.locator("main section").evaluate_all("all => all.map((one) => one.id)")
        self.assertEqual(
            ids,
            [
                "summary",
                "comparison",
                "acceptance",
                "speedups",
                "roofline",
                "precision",
                "collectives",
                "scaling",
                "nodes",
                "history",
                "model",
                "environments",
                "rows",
                "files",
            ],
        )
        plots = self.page.locator(".plot")
        self.assertEqual(plots.count(), 20)
        for i in range(plots.count()):
            plots.nth(i).scroll_into_view_if_needed()
            self.page.wait_for_function(
                "i => document.querySelectorAll('.plot')[i].querySelector('.trace, .hm, .heatmaplayer image')", arg=i
            )
        for name in ("roofline", "precision", "collectives", "scaling", "nodes", "history", "model", "acceptance"):
            self.assertGreater(self.page.locator(f"#{name} .plot svg").count(), 0, name)
        # Another series is drawn when it is chosen.
        last = self.page.locator("#history .plot").last
        before = last.inner_text()
        self.page.locator("#history select.pick").select_option(index=1)
        self.page.wait_for_function("([one, before]) => one.textContent !== before", arg=[last.element_handle(), before])
        self.quiet()

    def test_markup_of_a_file_is_text(self):
        self.open(make_report_inputs.write(self.folder / "in"))
        plots = self.page.locator(".plot")
        for i in range(plots.count()):
            plots.nth(i).scroll_into_view_if_needed()
            self.page.wait_for_function("i => document.querySelectorAll('.plot')[i].querySelector('svg')", arg=i)
        self.assertEqual(self.page.locator("main img, main script, main u, main i").count(), 0)
        self.assertEqual(self.page.locator("main b").evaluate_all("all => all.filter((b) => !b.closest('.tile')).length"), 0)
        self.assertIn(make_report_documents.HOSTILE, self.page.locator("#summary").inner_text())
        self.assertIn("<b>bold</b>", self.page.locator("#roofline .plot").inner_text())
        self.quiet()

    def test_tables_sort_and_filter(self):
        self.open(make_report_inputs.write(self.folder / "in")[:1])
        self.assertIn("104 rows", self.page.locator("#rows .count").inner_text())
        self.page.locator("#rows input[type=search]").fill("allreduce shared_memory")
        self.page.wait_for_function("() => document.querySelector('#rows .count').textContent.startsWith('9 of 104')")
        self.page.locator("#rows input[type=search]").fill("")
        self.page.wait_for_function("() => document.querySelector('#rows .count').textContent.startsWith('104 rows')")
        self.page.locator("#rows select[aria-label=Status]").select_option("incorrect")
        self.assertEqual(set(self.cells("rows", 1)), {"\u2717 incorrect"})
        self.assertEqual(len(self.cells("rows", 1)), 3)
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
        self.page.locator("#rows select[aria-label=Status]").select_option("")
        seen = self.cells("rows", 2)
        self.page.locator("#rows button", has_text="Next").click()
        self.assertNotEqual(seen, self.cells("rows", 2))
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
            ("acceptance", "Node over fleet", "Speedup: node over the median of the other nodes, above 1 node is faster"),
            ("nodes", "It over fleet", "Speedup: node over the median of the nodes, above 1 node is faster"),
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
        self.assertEqual(self.page.locator("#rows tbody tr").count(), 152, "the table is not complete")
        self.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.page.locator("#rows tbody tr").count(), 25)
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
