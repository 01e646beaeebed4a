#!/usr/bin/env python3
"""`assay report`: the page that it writes, without a browser (test_report_browser.py opens it in one)."""

import html.parser
import json
import re

from run_helper import ASSAY, BUILD, SOURCE, RunTest, main, read_report
import make_report_documents
import make_report_inputs
import make_results


class Page(html.parser.HTMLParser):
    """Every element with its attributes, and the texts of the scripts by id."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open, self.errors = [], {}, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.errors.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if self.open:
            tag, attributes = self.open[-1]
            name = attributes.get("id", tag)
            self.texts[name] = self.texts.get(name, "") + data


class Report(RunTest):
    def report(self, *files, words=(), code=0):
        out = self.folder / "report.html"
        done = self.command(ASSAY, "report", *files, "-o", out, *words, code=code)
        self.assertEqual(done.stdout, "", "talk on stdout")
        if code != 0:
            return done
        self.assertIn(str(out), done.stderr, "it does not say where the page is")
        self.text = out.read_text()
        page = Page(self.text)
        self.assertEqual((page.errors, page.open), ([], []))
        return page

    def own(self, page):
        """The page without Plotly's source and without the data."""
        return self.text.replace(page.texts.get("plotly", ""), "").replace(page.texts["data"], "")

    def test_all_parts(self):
        files = make_report_inputs.write(self.folder / "in")
        for file in files:
            self.command(ASSAY, "validate", file, code=0)
        page = self.report(*files, words=["--title", "A <b> & title"])
        data = read_report(page.texts["data"])
        self.assertEqual(
            [
                part
                for part in (
                    "counts",
                    "comparison",
                    "acceptance",
                    "speedups",
                    "roofline",
                    "precision",
                    "collectives",
                    "scaling",
                    "convergence",
                    "nodes",
                    "history",
                    "model",
                    "environments",
                    "rows",
                )
                if part not in data
            ],
            [],
        )
        self.assertEqual(page.texts["title"], "A <b> & title")
        # Markup of the files is in the data alone, and the data hold no character that begins or ends markup.
        self.assertIn(make_report_documents.HOSTILE, {text for row in data["rows"] for text in row.values()})
        self.assertNotRegex(page.texts["data"], "[<>&]")
        self.assertNotIn("onerror", self.own(page))
        self.assertEqual(data["nodes"]["hosts"], [f"n{i:02d}" for i in range(8)], "other systems belong to no fleet")
        self.assertEqual(data["speedup_header"], "speedup: {first} over {second}, above 1 {first} is faster")
        slow = [row["speedups"][2] for row in data["nodes"]["rows"]]
        self.assertTrue(all(1 / 1.12 < speedup < 1 / 1.05 for speedup in slow), slow)
        fits = {curve["name"]: curve["fit"] for curve in data["collectives"]["sizes"] if len(curve["points"]) > 2}
        self.assertAlmostEqual(fits["allreduce mpi fp32 nodes 2 ranks 8"]["alpha"], 5e-6, delta=1e-7)
        self.assertAlmostEqual(1 / fits["allgather mpi fp32 nodes 2 ranks 8"]["beta"], 2.4e10, delta=2e8)
        (trainings,) = data["convergence"]
        self.assertEqual([(p["images"], p["reached"], p["epochs"]["median"]) for p in trainings["points"]], [(32, 2, 4.5), (64, 2, 7.5), (128, 0, None)])
        (ranks,) = data["collectives"]["ranks"]
        self.assertEqual([point["count"] for point in ranks["points"]], [2, 4, 8])
        self.assertEqual([d["field"] for d in data["environments"]["differences"]], ["hardware.memory_bytes"])

    def test_nothing_is_fetched(self):
        page = self.report(make_report_inputs.write(self.folder / "in")[0])
        policies = [a["content"] for tag, a in page.elements if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
        self.assertEqual(len(policies), 1)
        self.assertTrue(policies[0].startswith("default-src 'none'; "))
        self.assertNotIn("http", policies[0])
        self.assertLess(self.text.index("Content-Security-Policy"), self.text.index("<style>"), "the policy comes too late")
        for tag, attributes in page.elements:
            self.assertNotIn(tag, ("img", "iframe", "object", "embed", "base", "form"))
            for name in ("src", "href"):
                value = attributes.get(name, "#")
                self.assertTrue(value.startswith("#") or value == "data:,", f"<{tag} {name}={value}>")
        self.assertNotRegex(self.own(page), r"https?:|//[a-z]+\.|@import|url\(|innerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(")

    def test_a_part_without_data_is_left_out(self):
        file = self.folder / "small.json"
        file.write_text(json.dumps(make_results.document(rows=2, launches=1)))
        data = read_report(self.report(file).texts["data"])
        for part in (
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
        ):
            self.assertNotIn(part, data)

    def test_baselines_beside_the_rows(self):
        document = make_results.document(rows=2, launches=1)
        file, other = self.folder / "mine.json", self.folder / "theirs.json"
        file.write_text(json.dumps(document))
        document["system"]["name"] = "theirs"
        other.write_text(json.dumps(document))
        data = read_report(self.report(file, words=["--baseline", other]).texts["data"])
        self.assertEqual([(row["speedup"], row["system"]) for row in data["speedups"]], [(1, "theirs"), (1, "theirs")])
        self.assertIn("deepbench-v100", self.report(file, words=["--baseline", "deepbench-v10"], code=2).stderr)

    def test_without_plotly_the_tables_stay(self):
        data_path = self.folder / "data"
        (data_path / "report").mkdir(parents=True)
        for part in (BUILD / "share" / "assay" / "report").iterdir():
            if part.name != "plotly.min.js":
                (data_path / "report" / part.name).write_bytes(part.read_bytes())
        (data_path / "results-schema").symlink_to(SOURCE / "results-schema")
        file, out = self.folder / "small.json", self.folder / "report.html"
        file.write_text(json.dumps(make_results.document(rows=2, launches=1)))
        done = self.command(ASSAY, "report", file, "--out", out, env=self.environment(ASSAY_DATA_PATH=str(data_path)), code=0)
        self.assertRegex(done.stderr, "tables and no plots .*plotly.min.js is not there")
        page = Page(out.read_text())
        self.assertIn("plotly.min.js is not there", read_report(page.texts["data"])["plotly_reason"])
        self.assertNotIn("plotly", page.texts)

    def test_plotly_keeps_its_licence(self):
        if not (BUILD / "share" / "assay" / "report" / "plotly.min.js").exists():
            self.skipTest("plotly.min.js was not found by CMake")
        file = self.folder / "small.json"
        file.write_text(json.dumps(make_results.document(rows=2, launches=1)))
        self.assertRegex(self.report(file).texts["plotly"][:400], "plotly.js v[0-9.]+(?s:.*)MIT license")

    def test_bad_input(self):
        good = self.folder / "good.json"
        good.write_text(json.dumps(make_results.document(rows=2, launches=1)))
        cases = {
            "cut": ('{"schema": "assay-result/1", "rows": [', "cut.json"),
            "foreign": ('{"a": 1}', "foreign.json"),
            "wrong": ('{"schema": "assay-comparison/1", "rows": 7}', "/rows"),
            "newer": ('{"schema": "assay-model/2"}', "newer"),
            "nothing": ("", "nothing.json"),
        }
        for name, (text, part) in cases.items():
            with self.subTest(name):
                bad = self.folder / f"{name}.json"
                bad.write_text(text)
                self.assertIn(part, self.report(good, bad, code=2).stderr)
                self.assertFalse((self.folder / "report.html").exists(), "a page was written of what was refused")
        self.assertIn("twice", self.report(good, good, code=2).stderr)
        self.assertIn("/proc/nowhere", self.command(ASSAY, "report", good, "-o", "/proc/nowhere/x.html", code=2).stderr)
        negative = json.loads(good.read_text())
        negative["rows"][0]["time_s"]["median"] = -1
        bad = self.folder / "negative.json"
        bad.write_text(json.dumps(negative))
        self.assertIn("/rows/0/time_s/median", self.report(bad, code=2).stderr)


if __name__ == "__main__":
    main(verbosity=2)
