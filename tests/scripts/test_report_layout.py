#!/usr/bin/env python3
# full: a headless Chromium opens the pages
"""The layout of the page of `assay report` at 1280 px, by measurement: nothing wider than the page, no two labels on
one another, one verdict first, a filter that filters plots and tables, columns that can be chosen."""

import json
import struct

from run_helper import BUILD, SOURCE, main

from browser_helper import BrowserTest
import make_report_documents
import make_report_inputs
import make_results


def crowded():
    """Names, nodes, ceilings and events that have to be kept apart."""
    history = make_report_documents.history(2)
    for series in history["series"]:
        days = series["points"][20:30]
        series["events"] = [
            {"time": day["time"], "text": f"event {i}: the driver, the firmware and the fans were changed", "kind": "event"}
            for i, day in enumerate(days + days)
        ]
    acceptance = make_report_documents.acceptance(40)
    for node in acceptance["nodes"] + acceptance["stragglers"]:
        node["node"] = "compute-rack-07-" + node["node"]
    documents = {"history": history, "acceptance": acceptance}
    for i in range(4):
        machine = make_results.document(
            rows=12, launches=1, precisions=("fp32", "bf16", "fp16"), system=f"a machine with a long name {i}", noise_seed=i
        )
        make_report_inputs.ceilings(machine, 3.2e12 * 1.02**i, 2.1e11)
        make_report_inputs.scaling(machine, counts=(1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64))
        make_report_inputs.collectives(machine)
        documents[f"machine-{i}"] = machine
    return documents


def precisions():
    """Few problems, so that each point of the precisions has a label, and a long one: "fp16 storage, fp32 arithmetic"."""
    documents = {}
    for i in range(4):
        machine = make_results.document(rows=12, launches=1, precisions=("fp32", "bf16", "fp16"), system=f"machine {i}", noise_seed=i)
        for row in machine["rows"]:
            row["names"] = []  # the name of a synthetic row is its own, also where the problem is the same
            if row["parameters"]["precision"] != "fp32":
                row["executed"]["compute"] = "fp32"
        make_report_inputs.ceilings(machine)
        documents[f"machine-{i}"] = machine
    return documents


# Labels of a plot's points that lie on a point, or on the line that is drawn across it; and the number of labels.
ON_POINTS = """
(plot) => {
  const box = (part) => part.getBoundingClientRect();
  const labels = [...plot.querySelectorAll('.annotation-text')].filter((text) => text.textContent.includes('\u00b7'));
  const others = [...plot.querySelectorAll('.trace .points path, .shapelayer path')].map(box);
  const meet = (a, b) => a.left + 1 < b.right && b.left + 1 < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
  return [labels.length, labels.filter((text) => others.some((other) => meet(box(text), other))).map((text) => text.textContent)];
}
"""


class Layout(BrowserTest):
    width = 1280

    def write(self, documents):
        files = []
        for name, document in documents.items():
            files.append(self.folder / f"{name}.json")
            files[-1].write_text(json.dumps(document))
        return files

    def drawn(self, section):
        """The points that a plot of this section shows."""
        return self.page.locator(f"#{section} .plot").first.evaluate(
            "one => (one.data || []).filter((series) => series.mode === 'markers').reduce((sum, series) => sum + series.x.length, 0)"
        )

    def filter(self, words):
        self.page.locator("#filter input[type=search]").fill(words)

    def count(self, text):
        self.page.wait_for_function("text => document.querySelector('#filter .count').textContent === text", arg=text)

    def test_nothing_is_wider_than_the_page(self):
        for files in (make_report_inputs.write(self.folder / "in"), self.write(crowded())):
            self.open(files)
            self.assert_fits()
            self.unfold()
            self.draw_all()
            self.assert_fits()
            # The time is near the left.
            for table in self.page.locator("#rows .table:not(details *)").all():
                time = table.locator("thead th", has_text="Time").first
                self.assertLess(time.bounding_box()["x"], 800)
        self.quiet()

    def test_no_label_lies_on_another(self):
        for files in (make_report_inputs.write(self.folder / "in"), self.write(crowded())):
            self.open(files)
            self.draw_all()
            self.assert_labels_apart()
        self.quiet()

    def test_labels_of_precisions_lie_on_no_point(self):
        self.open(self.write(precisions()))
        self.assert_fits()
        self.draw_all()
        # A plot is drawn first; then its labels are placed, all at once.
        self.page.locator("#precision .plot .annotation-text", has_text="\u00b7").first.wait_for()
        self.assert_labels_apart()
        count, covered = self.page.locator("#precision .plot").evaluate(ON_POINTS)
        texts = self.page.locator("#precision .plot .annotation-text").all_text_contents()
        at_the_edge = [text for text in texts if "\u00b7" not in text]
        self.assertTrue(all(text.endswith("\u00d7") for text in at_the_edge), at_the_edge)
        self.assertEqual((count + len(at_the_edge), covered), (32, []), "a point has neither a label nor its value at the edge")
        self.assertIn("fp16 storage, fp32 arithmetic \u00b7 onednn", texts)
        self.quiet()

    def test_the_measurement_finds_overlaps(self):
        self.open(make_report_inputs.write(self.folder / "in")[:1])
        self.page.locator("#roofline .plot").scroll_into_view_if_needed()
        self.page.locator("#roofline .plot .xtitle").wait_for()
        self.page.evaluate("document.querySelector('#roofline .xtitle').setAttribute('y', document.querySelector('.xtick text').getBBox().y + 9)")
        self.page.evaluate("document.querySelector('#rows table').style.width = '1500px'")
        with self.assertRaisesRegex(AssertionError, "arithmetic intensity.* lies on"):
            self.assert_labels_apart()
        with self.assertRaisesRegex(AssertionError, "table Every row"):
            self.assert_fits()

    def test_it_opens_with_one_verdict(self):
        self.open(make_report_inputs.write(self.folder / "in"))
        self.assertEqual(self.page.locator(".verdict .word").all_inner_texts(), ["\u2717 INCORRECT"])
        facts = self.page.locator(".facts").inner_text()
        for text in ("Synthetic 9000", "cluster", "8 hosts", "synthetic", "2026-01-05 12:00"):
            self.assertIn(text, facts)
        self.assertLess(self.page.locator(".verdict").bounding_box()["y"], 450, "the verdict is not on the first screen")
        order = self.page.evaluate(
            "[...document.querySelectorAll('.verdict, #failed, #lost, #noisy, #roofline, #rows')].map((one) => one.id || 'verdict')"
        )
        self.assertEqual(order, ["verdict", "failed", "lost", "noisy", "roofline", "rows"])
        summary = self.page.locator("#summary").inner_text()
        for text in ("node005", "node007", "node009", "conv/x", "gone/away", "a change point"):
            self.assertIn(text, summary)
        # The document alone: of a fleet whose criteria are not met, no row failed, and no green line says so under the red verdict.
        document = make_report_documents.acceptance(4)
        for node in document["nodes"]:
            node.update(verdict="PASS", reason=None)
        document.update(verdict="MISSING", reason="5 nodes: 4 nodes with results, 1 missing", exit_code=6, unmet=[
            {"criterion": "5 nodes", "reason": "4 nodes with results, 1 missing", "verdict": "MISSING"}])
        self.open(self.write({"unmet": document}))
        self.assertEqual(self.page.locator(".verdict .word").all_inner_texts(), ["\u2717 MISSING"])
        self.assertNotIn("Nothing", self.page.locator("#summary").inner_text())
        self.assertIn("Limits", self.page.locator("#acceptance").inner_text())
        self.open(self.write({"good": make_results.document(rows=3, launches=1)}))
        self.assertEqual(self.page.locator(".verdict .word").all_inner_texts(), ["\u2713 VERIFIED"])
        self.assertIn("Nothing failed, nothing was lost, and nothing is noisy.", self.page.locator("#summary").inner_text())
        self.quiet()

    def test_a_filter_filters_the_plots_and_the_tables(self):
        self.open(make_report_inputs.write(self.folder / "in"))
        self.unfold()
        self.draw_all()
        before = {name: self.drawn(name) for name in ("roofline", "precision")}
        self.page.locator("#filter select[name=precision]").select_option("bf16")
        self.count("16 of 158 rows")
        for name, count in before.items():
            self.assertLess(self.drawn(name), count)
            self.assertGreater(self.drawn(name), 0)
        self.assertEqual(
            set(self.page.locator("#precision .legendtext").all_text_contents()), {"bf16"}, "a series that does not pass is drawn"
        )
        self.assertIn("of 60 rows", self.page.locator("#precision .count").inner_text())
        self.assertEqual(self.page.locator("#scaling .plot.empty").count(), 4)
        self.assertIn("No row passes the filter", self.page.locator("#scaling .plot").first.inner_text())
        self.assert_labels_apart()
        self.page.locator("#filter button", has_text="Clear").click()
        self.count("158 rows")
        self.assertEqual({name: self.drawn(name) for name in before}, before)
        self.filter("allreduce shared_memory")
        self.count("9 of 158 rows")
        self.assertEqual(len(self.page.locator("#collectives .plot").last.evaluate("one => one.data || []")), 0)
        names = self.page.locator("#collectives .plot:not(.empty)").first.evaluate("one => one.data.filter((s) => s.name).map((s) => s.name)")
        self.assertEqual(len(names), 1)
        self.assertIn("shared_memory", names[0])
        self.filter("no row holds this")
        self.count("0 of 158 rows")
        self.quiet()

    def test_the_filter_of_a_documents_table_filters_its_plots(self):
        self.open(make_report_inputs.write(self.folder / "in"))
        self.draw_all()
        columns = "one => one.data[0].x.length"
        heat = self.page.locator("#acceptance .plot")
        self.assertEqual(heat.evaluate(columns), 16)
        self.page.locator("#acceptance select[aria-label=Verdict]").select_option("PERF-FAIL")
        self.assertEqual(heat.evaluate(columns), 1)
        self.quiet()

    def test_both_maps_of_nodes_speak_alike(self):
        self.open(make_report_inputs.write(self.folder / "in"))
        self.draw_all()
        words = "Speedup: node over the median of the other nodes, above 1 node is faster; for 6 rows"
        said = []
        for section in ("acceptance", "nodes"):
            self.assertIn(words, self.page.locator(f"#{section}").inner_text())
            said.append(
                self.page.locator(f"#{section} .plot").evaluate(
                    """one => { const map = one.data[0]; return [map.type, map.zmin, map.zmax, map.colorbar.ticktext, map.colorbar.title.text,
                        one.layout.xaxis.title.text, one.layout.yaxis.autorange, map.hovertext[0][0].split('<br>')[2].replace(/[0-9.]+/, '')]; }"""
                )
            )
        self.assertEqual(said[0], said[1])

    def test_each_ceiling_is_labelled(self):
        self.open(self.write(crowded()))
        self.draw_all()
        labels = self.page.locator("#roofline .plot .annotation-text").all_text_contents()
        peaks = [text for text in labels if "TFLOP/s" in text]
        bandwidths = [text for text in labels if "GB/s" in text]
        # Four machines, each with a peak of fp32 and one of both 16-bit precisions; their bandwidths read alike.
        self.assertEqual((len(peaks), len(bandwidths)), (8, 1), labels)
        self.assertEqual(sum("fp32" in text for text in peaks), 4)

    def test_columns_are_chosen_and_rows_open(self):
        self.open(make_report_inputs.write(self.folder / "in")[:1])
        table = self.page.locator("#rows .table:not(details *)").nth(1)  # of conv

        def shown():
            return [text.strip() for text in table.locator("thead th:not([hidden]) button").all_inner_texts()]

        self.assertNotIn("p99", shown())
        table.locator(".columns summary").click()
        table.locator(".choice label", has_text="p99").click()
        self.assertIn("p99", shown())
        table.locator(".choice label", has_text="Precision").click()
        self.assertNotIn("Precision", shown())
        # Parameters that all rows share are said once; those that vary stand before the time.
        self.assertNotIn("cache", shown())
        self.assertIn("cache hot", table.inner_text())
        self.assertLess(shown().index("threads"), shown().index("Time"))
        self.page.locator("#rows h2").click()
        self.assertFalse(table.locator(".choice").is_visible(), "the list of columns stays open")
        first = table.locator("tbody tr").first
        self.assertNotIn("assay-conv --problem", table.inner_text())
        first.locator(".opener button").click()
        details = table.locator("tr.details")
        self.assertIn("assay-conv --problem", details.inner_text())
        self.assertIn("conv/forward/fp32/onednn/direct/", details.inner_text())
        self.assertIn("Precision", details.inner_text(), "a column that is left out is told below the row")
        self.assertEqual(first.locator(".opener button").get_attribute("aria-expanded"), "true")
        self.quiet()

    def test_unsupported_rows_are_one_line(self):
        self.open(make_report_inputs.write(self.folder / "in")[:1])
        fold = self.page.locator("#rows details.unsupported")
        self.assertEqual(fold.count(), 1)
        self.assertIn("3 rows", fold.locator("summary").first.inner_text())
        self.assertLess(fold.bounding_box()["height"], 40)
        self.assertNotIn("unsupported", self.page.locator("#rows .table:not(details *) tbody").nth(1).inner_text())
        fold.locator("summary").first.click()
        self.assertEqual(fold.locator("tbody tr").count(), 3)
        self.assertIn("synthetic: unsupported", fold.inner_text())
        self.page.locator("#filter select[name=precision]").select_option("bf16")
        self.assertIn("1 of 3 rows", fold.locator("summary").first.inner_text())

    def test_a_row_tells_its_file_where_nothing_else_does(self):
        weeks = {}
        for week in ("2026-01-05", "2026-01-12"):
            (self.folder / "weekly" / week).mkdir(parents=True)
            document = make_results.document(rows=3, launches=1, noise_seed=week, started=f"{week}T12:00:00.000Z")
            document["rows"][2].update({"status": "unsupported", "reason": "no kernel", "time_s": None, "samples_s": [], "rates": {},
                                         "verification": None})
            weeks[f"weekly/{week}/result"] = document
        self.open([file.parent for file in self.write(weeks)])

        def column(title):
            table = self.page.locator("#rows .table:not(details *)").first
            titles = [text.strip() for text in table.locator("thead th").all_inner_texts()]
            return [row.locator("td").nth(titles.index(title)).inner_text() for row in table.locator("tbody tr").all()]

        self.assertEqual(sorted(column("File")), ["2026-01-05"] * 2 + ["2026-01-12"] * 2)
        fold = self.page.locator("#rows details.unsupported")
        fold.locator("summary").first.click()
        for week in ("2026-01-05", "2026-01-12"):
            self.assertIn(week, fold.locator("tbody").first.inner_text())
        self.open([self.folder / "weekly" / "2026-01-05"])
        self.assertRaises(ValueError, column, "File")
        self.quiet()

    def test_published_rows_are_not_called_verified(self):
        document = make_results.document(rows=2, launches=1)
        document["rows"][0].update({"published": True, "verification": None, "citation": "a table", "printed": {"value": 1, "unit": "s", "text": "1", "reason": "rounded"}})
        self.open(self.write({"mixed": document}))
        badges = self.page.locator("#rows tbody .badge").all_inner_texts()
        self.assertEqual(sorted(badges), ["published", "\u2713 ok"])
        self.assertEqual(self.page.locator("#summary .tile.good").all_inner_texts(), ["1 verified"])

    def test_marks_are_inherited(self):
        document = make_results.document(rows=6, launches=1, precisions=("fp32", "bf16", "fp16"))
        make_report_inputs.ceilings(document)
        for row in document["rows"]:
            if row["parameters"]["precision"] == "fp32":
                row["time_s"]["stolen"] = 0.5
        self.open(self.write({"noisy": document}))
        self.unfold()
        for row in self.page.locator("#precision tbody tr").all_inner_texts():
            self.assertRegex(row, r"\d\u00d7!", "a speedup over a disturbed row")
        cells = self.page.locator("#roofline tbody tr", has_text="fp32").all_inner_texts()
        self.assertEqual(len(cells), 2)
        for row in cells:
            self.assertRegex(row, r"FLOP/s!")
            self.assertRegex(row, r"%!")

    def test_the_pictures_of_the_documentation(self):
        files = make_report_inputs.write(self.folder / "in")[:1]
        names = ("report-verdict", "report-plots", "report-rows", "precision")
        script = [SOURCE / "scripts" / "report-screenshots", "--out", self.out, "--build", BUILD]
        done = self.command(*script, *files, "--parts", ",".join(names), code=0)
        done.stdout += self.command(*script, "--simulated", code=0).stdout
        for name in (*names, "report-acceptance", "report-history"):
            file = self.out / f"{name}.png"
            self.assertIn(str(file), done.stdout)
            data = file.read_bytes()
            self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", data[16:24])
            self.assertEqual(width, 1280)
            self.assertTrue(200 < height <= 1400, height)
        for file in (SOURCE / "docs" / "images").glob("*.png"):
            self.assertLess(file.stat().st_size, 200 * 1024, file)

    def test_confirmations_of_a_history(self):
        history = make_report_documents.history(4)
        answers = ("software slower", "noise", "unconfirmed")
        for series, answer in zip(history["series"], answers):
            measured = answer != "unconfirmed"
            series["state"] = "suspect"
            series["confirmation"] = {
                "answer": answer,
                "reason": f"why {answer} <b>",
                "ratio": 1.25 if measured else None,
                "interval": [1.2, 1.3] if measured else None,
                "p": 1e-4 if measured else None,
                "base_s": 1e-3 if measured else None,
                "new_s": 1.25e-3 if measured else None,
                "level_s": 1e-3 if measured else None,
            }
        self.open(self.write({"history": history}))
        table = self.page.locator("#history .table", has_text="New over promoted")
        self.assertEqual(table.locator("tbody tr").count(), 3)
        slower = table.locator("tbody tr", has_text="software slower").first.inner_text()
        for text in ("0.800\u00d7", "0.769\u00d7 \u2026 0.833\u00d7", "1.25 ms", "1.00 ms", "why software slower <b>"):
            self.assertIn(text, slower)
        self.assertIn("software slower", self.page.locator("#summary").inner_text())
        self.assertIn("unconfirmed", self.page.locator("#summary").inner_text())
        self.assert_fits()
        self.quiet()


if __name__ == "__main__":
    main(verbosity=2)
