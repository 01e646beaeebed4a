#!/usr/bin/env python3
"""The axes of the report's plots: one row of a busy moment does not flatten the rest (the script's own functions, run by Node)."""
import json
import math
import pathlib
import shutil
import subprocess
import unittest

from run_helper import SOURCE, main

BROWSER = """
const nowhere = {addEventListener() {}};
globalThis.window = nowhere; globalThis.document = {body: {}}; globalThis.Plotly = {};
globalThis.IntersectionObserver = class { observe() {} unobserve() {} };
const known = (x) => x !== null && x !== undefined, element = () => ({}), plain = String, percent = String, times = String;
const error_text = String, human = (x, unit) => x + unit, label = (row) => row.name, each = (x) => x || [];
const change = String, report = {least_for_interval: 6}; const range_text = String;
const range = (low, high, show) => show(low) + show(high);
const prefixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'], plural = (count, word) => count + ' ' + word + (count === 1 ? '' : 's');
const passes = () => true, on_filter = () => {}, most_curves = 12, speedup_of = (ratio) => 1 / ratio;
const mark_texts = {}, mark_told = (side) => side.shared ? '!' : side.throttled ? '\u00b0' : '';
"""


@unittest.skipUnless(shutil.which("node"), "there is no node")
class Ranges(unittest.TestCase):
    def run_script(self, script):
        files = [SOURCE / "analysis" / "report" / name for name in ("report_axes.js", "report_plots.js", "report_plots_documents.js")]
        text = BROWSER + "".join(pathlib.Path(file).read_text() for file in files) + f"\nconsole.log(JSON.stringify({script}));"
        done = subprocess.run(["node", "-e", text], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def precision(self, points):
        rows = [{"name": str(i), "precision": "bf16", "median": 1} for i in range(len(points))]
        points = [{"row": i, "reference": 0, "error": 1e-3, **point} for i, point in enumerate(points)]
        return self.run_script(f"(globalThis.rows = {json.dumps(rows)}, precision_plot({json.dumps(points)}).layout)")

    def test_precision(self):
        quiet = [{"speedup": 1, "mark": ""}, {"speedup": 2, "mark": ""}]
        layout = self.precision([*quiet, {"speedup": 50, "mark": "!"}])
        self.assertEqual(layout["yaxis"]["range"][0], 0)
        self.assertTrue(2 < layout["yaxis"]["range"][1] < 3, layout)
        self.assertIn("1 point of a busy moment outside", layout["annotations"][0]["text"])
        layout = self.precision([*quiet, {"speedup": 50, "mark": "\u00b0"}])
        self.assertTrue(2 < layout["yaxis"]["range"][1] < 3, "a throttled one")
        # All inside, all quiet, or none quiet: Plotly chooses.
        for points in ([*quiet, {"speedup": 1.5, "mark": "!"}], quiet, [{"speedup": 1, "mark": "!"}, {"speedup": 50, "mark": "!"}]):
            layout = self.precision(points)
            self.assertNotIn("range", layout["yaxis"])
            self.assertEqual(layout["annotations"], [])

    def plotted(self, problems):
        """The series of a picture with two precisions of each problem, and its labels on 800 by 400 pixels."""
        rows = [{"name": str(i), "precision": p, "problem": f"p{i // 2}", "backend": "b", "median": 1} for i in range(2 * problems)
                for p in [("fp32", "bf16")[i % 2]]]
        points = [{"row": i, "reference": i - i % 2, "executed": rows[i]["precision"], "error": (1e-7, 1e-3)[i % 2], "speedup": (1, 2)[i % 2],
                   "low": (None, 1.9)[i % 2], "high": (None, 2.2)[i % 2], "mark": ""} for i in range(2 * problems)]
        return self.run_script(
            f"(globalThis.rows = {json.dumps(rows)}, ((p) => [p.data, p.labels({{w: 800, h: 400}}, {{yaxis: {{range: [0, 2.5]}}}})])"
            f"(precision_plot({json.dumps(points)})))"
        )

    def test_a_colour_for_each_problem_and_a_label_for_each_precision(self):
        data, labels = self.plotted(3)
        self.assertEqual([series["name"] for series in data], ["p0", "p1", "p2"])
        self.assertEqual(len({series["marker"]["color"] for series in data}), 3)
        for series in data:
            self.assertAlmostEqual(series["error_y"]["array"][1], 0.2)
            self.assertAlmostEqual(series["error_y"]["arrayminus"][1], 0.1)
            self.assertEqual(series["error_y"]["array"][0], 0, "fp32 is not set beside itself")
        self.assertEqual([label["text"] for label in labels], ["bf16 \u00b7 b"] * 3)
        high = sorted(400 * label["y"] / 2.5 - label["ay"] for label in labels)
        self.assertTrue(all(b - a >= 13 - 1e-9 for a, b in zip(high, high[1:])), high)
        # With more problems than colours a colour for each precision, and no labels.
        data, labels = self.plotted(8)
        self.assertEqual(([series["name"] for series in data], labels), (["fp32", "bf16"], []))

    def test_long_labels_of_precisions_lie_on_no_point_and_not_on_the_line(self):
        """A label is as wide as its text is: 214 pixels here, where fp16 and bf16 are 169 apart."""
        kinds = (("fp32", 1e-7), ("fp16 storage, fp32 arithmetic", 1.3e-4), ("bf16 storage, fp32 arithmetic", 1e-3))
        rows = [{"name": kind, "problem": f"p{p}", "backend": "b", "median": 1} for p in range(4) for kind, _ in kinds]
        points = [{"row": 3 * p + k, "reference": 3 * p, "executed": kinds[k][0], "error": kinds[k][1], "speedup": 0.98 + 0.02 * p if k else 1,
                   "low": None, "high": None, "mark": ""} for p in range(4) for k in range(3)]
        labels, (left, right), widths = self.run_script(
            f"(globalThis.rows = {json.dumps(rows)}, ((p) => {{ const all = p.labels({{w: 800, h: 400}}, {{yaxis: {{range: [0, 2]}}}});"
            f" return [all, p.layout.xaxis.range, all.map((label) => text_width(label.text, 10))]; }})(precision_plot({json.dumps(points)})))"
        )
        self.assertEqual(len(labels), 8)
        self.assertGreater(min(widths), 200)
        boxes = []
        for label, width in zip(labels, widths):
            start = 800 * (label["x"] - left) / (right - left) + label["ax"] - (width if label["xanchor"] == "right" else 0)
            boxes.append((start, start + width, 200 * label["y"] - label["ay"]))
        for i, (start, end, middle) in enumerate(boxes):
            self.assertGreater(start, 0)
            self.assertLess(end, 800 + 250)
            self.assertGreater(abs(middle - 200), 6.5, "on the dashed line")
            for point in points:
                x, y = 800 * (math.log10(point["error"]) - left) / (right - left), 200 * point["speedup"]
                self.assertFalse(start < x < end and abs(y - middle) < 6.5, (labels[i], point))
            for other_start, other_end, other in boxes[:i]:
                self.assertFalse(start < other_end and other_start < end and abs(other - middle) < 13 - 1e-9, labels[i])

    def test_history(self):
        points = [{"time": f"2026-01-0{i + 1}", "value": 1 + 0.01 * i, "low": 0.9, "high": 1.1, "shared": False} for i in range(5)]
        for disturbed in ("shared", "throttled"):
            last = {"time": "2026-01-07", "value": 30, "low": 20, "high": 40, "shared": False, disturbed: True}
            layout = self.run_script(f"history_plot({json.dumps({'points': [*points, last]})}, 1000).layout")
            low, high = layout["yaxis"]["range"]
            self.assertTrue(0.8 < low < 0.9 and 1.1 < high < 1.2, layout["yaxis"])
        layout = self.run_script(f"history_plot({json.dumps({'points': points})}, 1000).layout")
        self.assertNotIn("range", layout["yaxis"])

    def test_efficiency(self):
        curve = {"name": "c", "full": "c", "points": [
            {"count": n, "efficiency": e, "speedup": n * e, "ideal": n, "seconds": 1, "mark": "!" if s else ""}
            for n, e, s in ((1, 1, 0), (2, 0.9, 0), (4, 12, 1))]}
        layout = self.run_script(f"scaling_plot([{json.dumps(curve)}], 'threads', 'efficiency', 'efficiency').layout")
        self.assertEqual(layout["yaxis"]["range"][0], 0)
        self.assertTrue(1.05 <= layout["yaxis"]["range"][1] < 1.2, layout)

    def test_log_ticks(self):
        """A few round values, whatever the range: never none, never a crowd."""
        for low, high in ((1, 1.3), (3, 20), (0.4, 300), (1e3, 1e9), (1e-17, 1e-2), (2e9, 2.1e9)):
            ticks = self.run_script(f"log_ticks({low}, {high})")
            self.assertTrue(3 <= len(ticks) <= 12, (low, high, ticks))
            self.assertTrue(all(low * 0.999 <= tick <= high * 1.001 for tick in ticks), ticks)
            self.assertEqual(ticks, sorted(set(ticks)))
        self.assertEqual(self.run_script("log_ticks(3, 60)"), [5, 10, 20, 50])
        self.assertEqual(self.run_script("binary_ticks(8, 2 ** 24)"), [8, 64, 512, 4096, 32768, 262144, 2097152, 16777216])
        self.assertEqual(self.run_script("[brief(2e11, 'B/s'), brief(1e3, ''), binary(65536), power_of_ten(1e-6), power_of_ten(2e-6)]"),
                         ["200 GB/s", "1 k", "64 KiB", "10\u207b\u2076", "2\u00b710\u207b\u2076"])

    def test_labels_are_spread(self):
        self.assertEqual(self.run_script("spread([10, 11, 50], 20, 0, 100)"), [10, 30, 50])
        self.assertEqual(self.run_script("spread([95, 99, 97], 20, 0, 100)"), [60, 100, 80])
        self.assertEqual(self.run_script("levels([{from: 0, to: 10}, {from: 5, to: 15}, {from: 12, to: 20}], 1)"), [0, 1, 0])

    def test_events_on_one_day_have_lines_of_their_own(self):
        points = [{"time": f"2026-01-0{i + 1}", "value": 1, "low": 1, "high": 1, "shared": False} for i in range(5)]
        events = [{"time": "2026-01-03", "text": f"event {i}"} for i in range(3)] + [{"time": "2026-01-05", "text": "at the right edge"}]
        script = f"history_plot({json.dumps({'points': points, 'events': events})}, 400).layout.annotations"
        labels = self.run_script(script)
        self.assertEqual(len(labels), 4)
        self.assertEqual(len({label["yshift"] for label in labels[:3]}), 3)
        self.assertEqual(labels[3]["xanchor"], "right", "it would leave the plot")


if __name__ == "__main__":
    main()
