#!/usr/bin/env python3
# full: a headless Chromium opens the pages
"""Pages of `assay report` on screens of five widths, light and dark, by measurement: no sideways scroll, no text on another, text that
stands out from its ground, plots that can be read. The page follows the window and the wish of the system without being loaded again."""

import json

from run_helper import main

from browser_helper import BrowserTest, OVERLAPS, PALE
import make_report_documents
import make_report_evidence
import make_report_inputs
import make_results

WIDTHS = (320, 400, 768, 1280, 1920)
# The part of a plot's width in which its data are drawn, and its least width; names of cases stand beside a map.
PLOTS = """
() => [...document.querySelectorAll('.plot')].filter((plot) => plot.clientWidth && plot._fullLayout).map((plot) => ({
  title: plot.getAttribute('aria-label'), place: plot.clientWidth, drawn: plot.querySelector('.main-svg').getBoundingClientRect().width,
  data: plot._fullLayout._size.w, map: plot.data[0].type === 'heatmap',
  letters: Math.min(...[...plot.querySelectorAll('svg text')].filter((text) => text.textContent).map((text) => parseFloat(getComputedStyle(text).fontSize))),
}))
"""


def quickstart():
    """Kernels of many backends with ceilings, rows of threads, and collectives in a run of their own, with other software; some rows were
    disturbed, some are unsupported."""
    document = make_results.document(rows=48, launches=1, precisions=("fp32", "bf16", "fp16"), backends=("onednn", "native", "blas", "reference"),
                                     statuses={"mb1c0003/": "unsupported"})
    make_report_inputs.ceilings(document)
    make_report_inputs.scaling(document, "threads", (1, 2))
    for row in document["rows"][:24:5]:
        if row["status"] == "ok":
            row["time_s"]["stolen"] = 0.5
    other = make_results.document(rows=1, launches=1, run={"id": "allreduce"}, software={"switches": {"OMPI_MCA_rmaps_base_oversubscribe": "1"}})
    make_report_inputs.collectives(other)
    return {"smoke": document, "smoke-allreduce": other}


def fleet():
    inputs = make_report_inputs.all_inputs()
    return {name: inputs[name] for name in (*(f"node-{i}" for i in range(8)), "acceptance")}


def history():
    document = make_report_documents.history(5)
    document["series"][0]["events"] += [
        {"time": point["time"], "text": "the driver, the firmware and the fans were changed", "kind": "event"}
        for point in document["series"][0]["points"][20:24]
    ]
    return {"history": document}


def long_history():
    """More series than are drawn at once."""
    return {"history": make_report_documents.history(8)}


def training():
    document = make_results.document(rows=1, launches=1)
    make_report_inputs.trainings(document)
    make_report_inputs.scaling(document)
    return {"training": document}


class Widths(BrowserTest):
    def show(self, make):
        files = []
        for name, document in make().items():
            files.append(self.folder / f"{name}.json")
            files[-1].write_text(json.dumps(document))
        self.open(files)
        self.draw_all()

    def resize(self, width):
        self.page.set_viewport_size({"width": width, "height": 900})
        # The window's resize is told to plots once it rests.
        self.page.wait_for_function(
            """() => [...document.querySelectorAll('.plot')].every((plot) => !plot.clientWidth || !plot._fullLayout ||
                Math.abs(plot._fullLayout.width - plot.clientWidth) < 2)"""
        )
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def measure(self, width):
        self.assertEqual(self.page.evaluate("document.documentElement.scrollWidth"), width, "the page scrolls sideways")
        self.assert_fits()
        self.assert_labels_apart()
        self.assertEqual(self.page.evaluate(OVERLAPS), [])
        self.assertEqual(self.page.evaluate(PALE), [])
        bars = "() => [...document.querySelectorAll('.plot .scrollbar')].filter((bar) => bar.getBoundingClientRect().height > 0).length"
        self.assertEqual(self.page.evaluate(bars), 0, "a legend has to be scrolled")
        for plot in self.page.evaluate(PLOTS):
            self.assertLessEqual(plot["drawn"], plot["place"] + 1, plot)
            self.assertGreaterEqual(plot["letters"], 10, plot)
            self.assertGreater(plot["data"], (0.35 if plot["map"] else 0.55) * plot["place"], plot)

    def measure_all(self, make):
        self.show(make)
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                with self.subTest(scheme=scheme, width=width):
                    self.resize(width)
                    self.measure(width)
                    self.unfold()
                    self.assert_fits()
                    self.assertEqual(self.page.evaluate(OVERLAPS), [])
                    self.page.evaluate("for (const fold of document.querySelectorAll('details.fold')) fold.open = false")
        self.quiet()

    def test_a_quickstart(self):
        self.measure_all(quickstart)

    def test_a_fleet(self):
        self.measure_all(fleet)

    def test_a_history(self):
        self.measure_all(history)

    def test_a_training(self):
        self.measure_all(training)

    def test_devices_burns_links_storage_and_blame(self):
        self.measure_all(make_report_evidence.all_evidence)
        sections = self.page.locator("main section").evaluate_all("all => all.map((one) => one.id)")
        self.assertEqual([name for name in sections if name in ("devices", "burn", "links", "storage", "blame")],
                         ["devices", "burn", "links", "storage", "blame"])
        # A map has the numbers of its table, which stand in its cells where there is room.
        shown = self.page.locator("#links .table").first.text_content()
        for text in self.page.evaluate("document.querySelector('#links .plot').data[0].text.flat()"):
            self.assertIn(text, shown)
        self.assertGreater(self.page.locator("#links .plot .heatmap-label").count(), 0, "no number in a cell")

    def test_a_narrow_row_tells_what_differs_below_it(self):
        self.show(quickstart)
        table = self.page.locator("#rows .table:not(details *)", has_text="mb1c").first
        self.assertEqual(table.locator("tr.under:visible").count(), 0, "a wide page has columns for that")
        self.resize(400)
        rows = table.locator("tbody tr:not(.under):not(.details)").count()
        self.assertEqual(table.locator("tr.under").count(), rows)
        half = table.locator("tr:not(.under)", has=self.page.locator("td[title*='/bf16/']")).first
        under = half.locator("xpath=following-sibling::tr[1]")
        self.assertIn("Of ceiling", under.inner_text())
        self.assertNotIn("forward", under.inner_text(), "what all rows share is said above the table")
        self.resize(320)
        self.assertIn("bf16", under.inner_text(), "the rows of a problem cannot be told apart")
        self.assertIn("Time", table.locator("thead").inner_text())
        # An opened row has the line between it and its details.
        half.locator(".opener button").click()
        self.assertEqual(table.locator("tr.under + tr.details").count(), 1)
        self.resize(1280)
        self.assertEqual(table.locator("tr.under").count(), 0)

    def test_a_plot_that_was_out_of_the_page_follows_too(self):
        self.show(long_history)
        pick = self.page.locator("#history select.pick")
        pick.select_option(index=1)
        self.page.locator("#history .plot").last.scroll_into_view_if_needed()
        self.page.locator("#history .plot").last.locator("svg").first.wait_for(state="attached")
        pick.select_option(index=0)
        self.resize(400)
        pick.select_option(index=1)
        self.resize(400)
        self.assert_fits()

    def test_the_filter_folds_away(self):
        self.show(quickstart)
        menus, search = self.page.locator("nav details.menus"), self.page.locator("#filter input[type=search]")
        self.assertTrue(search.is_visible())
        self.assertFalse(menus.locator("> summary").is_visible())
        self.resize(400)
        self.assertFalse(search.is_visible())
        self.assertLess(self.page.locator("nav").bounding_box()["height"], 60)
        menus.locator("> summary").click()
        search.fill("bf16")
        self.page.wait_for_function("() => /^\\d+ of \\d+ rows$/.test(document.querySelector('#filter .count').textContent)")
        count = self.page.locator("#filter .count").inner_text()
        self.assertIn(count, menus.locator("> summary").inner_text(), "a filter that is folded away still tells that it filters")
        menus.locator("a").last.click()
        self.assertFalse(search.is_visible(), "the fold stays open over what was gone to")
        self.resize(1280)
        self.assertTrue(search.is_visible())

    def test_it_is_dark_by_the_systems_wish_and_prints_light(self):
        self.show(training)
        grounds = """() => { const plot = document.querySelector('.plot .main-svg');
            return [getComputedStyle(document.body), getComputedStyle(plot)].map((style) => style.backgroundColor); }"""
        light = self.page.evaluate(grounds)
        self.assertEqual(light, ["rgb(255, 255, 255)"] * 2)
        self.page.emulate_media(color_scheme="dark")
        self.page.wait_for_function(f"() => ({grounds})()[1] !== 'rgb(255, 255, 255)'")
        page, plot = self.page.evaluate(grounds)
        self.assertEqual(page, plot)
        self.assertLess(max(int(part) for part in page[4:-1].split(",")), 60)
        self.page.emulate_media(color_scheme="dark", media="print")
        self.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.page.evaluate(grounds), light)
        self.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.page.emulate_media(color_scheme="dark", media="screen")
        self.page.wait_for_function(f"() => ({grounds})()[1] !== 'rgb(255, 255, 255)'")
        self.quiet()

    def test_the_measurements_find_what_they_look_for(self):
        self.show(quickstart)
        self.assertEqual(self.page.evaluate(OVERLAPS), [])
        self.page.evaluate("document.querySelector('.tiles').style.cssText = 'position: relative; top: -3rem'")
        self.assertNotEqual(self.page.evaluate(OVERLAPS), [])
        self.assertEqual(self.page.evaluate(PALE), [])
        self.page.evaluate("document.querySelector('.facts dd').style.color = '#aaa'")
        self.assertNotEqual(self.page.evaluate(PALE), [])


if __name__ == "__main__":
    main(verbosity=2)
