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
const nowhere = {addEventListener() {}, matchMedia: () => nowhere, matches: false}, printing = false;
globalThis.window = nowhere; globalThis.document = {body: {}}; globalThis.Plotly = {};
globalThis.IntersectionObserver = class { observe() {} unobserve() {} };
const known = (x) => x !== null && x !== undefined, element = () => ({}), label = (row) => row.name, each = (x) => x || [];
const report = {least_for_interval: 6}, range = (low, high) => low + high;
const plural = (count, word) => count + ' ' + word + (count === 1 ? '' : 's');
const passes = () => true, on_filter = () => {}, measure = () => ({}), speedup_of = (ratio) => 1 / ratio;
const mark_texts = {}, ceiling_mark = () => '', mark_told = (side) => side.shared ? '!' : side.throttled ? '\u00b0' : '';
"""


# The layout that Plotly makes of it.
DRAWN = "{_size: {w: 800}, xaxis: {type: 'log', d2p: (x) => 100}, yaxis: {range: [0, 2.5]}}"


def told(record):
    """A record of the page's data, whose numbers have their texts beside them."""
    return {**record, **{f"{name}_text": str(value) for name, value in record.items()}}


@unittest.skipUnless(shutil.which("node"), "there is no node")
class Ranges(unittest.TestCase):
    def run_script(self, script):
        files = [SOURCE / "analysis" / "report" / name for name in ("report_axes.js", "report_plots.js", "report_plots_documents.js", "report_heat.js", "report_curves.js")]
        text = BROWSER + "".join(pathlib.Path(file).read_text() for file in files) + f"\nconsole.log(JSON.stringify({script}));"
        done = subprocess.run(["node", "-e", text], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def precision(self, points):
        rows = [{"name": str(i), "precision": "bf16", "median": 1} for i in range(len(points))]
        points = [told({"row": i, "reference": 0, "error": 1e-3, **point}) for i, point in enumerate(points)]
        return self.run_script(
            f"(globalThis.rows = {json.dumps(rows)}, ((p) => ({{...p, labels: p.labels({{w: 800, h: 400}}, {DRAWN})"
            f".filter((label) => !label.ax)}}))(precision_plot({json.dumps(points)}, 1000)))"
        )

    def test_precision(self):
        quiet = [{"speedup": 1, "mark": ""}, {"speedup": 2, "mark": ""}]
        for mark in ("!", "\u00b0"):
            picture = self.precision([*quiet, {"speedup": 50, "mark": mark}])
            low, high = picture["layout"]["yaxis"]["range"]
            self.assertEqual(low, 0)
            self.assertTrue(2 < high < 3, picture["layout"])
            # It is drawn where it was measured, beyond the axis, and a triangle at the edge tells of it.
            self.assertEqual(picture["data"][0]["y"], [1, 2, 50])
            edge = picture["data"][-1]
            self.assertEqual((edge["y"], edge["marker"]["symbol"]), ([high], ["triangle-up"]))
            self.assertIn("outside the axis", edge["name"])
            (label,) = picture["labels"]
            self.assertEqual((label["text"], label["y"]), ("50" + mark, high))
        # All inside, all quiet, or none quiet: Plotly chooses.
        for points in ([*quiet, {"speedup": 1.5, "mark": "!"}], quiet, [{"speedup": 1, "mark": "!"}, {"speedup": 50, "mark": "!"}]):
            picture = self.precision(points)
            self.assertNotIn("range", picture["layout"]["yaxis"])
            self.assertEqual(picture["labels"], [])

    def test_the_axis_follows_the_medians(self):
        """A median far from all others, and an interval as long, do not flatten the rest, busy machine or not."""
        quiet = [{"speedup": 1 + 0.1 * i, "low": 0.95 + 0.1 * i, "high": 1.05 + 0.1 * i, "mark": ""} for i in range(8)]
        picture = self.precision([*quiet, {"speedup": 50, "mark": ""}])
        self.assertLess(picture["layout"]["yaxis"]["range"][1], 3)
        self.assertEqual([label["text"] for label in picture["labels"] if "50" in label["text"]], ["50"])
        # A few times more is no outlier.
        self.assertNotIn("range", self.precision([*quiet, {"speedup": 3, "mark": ""}])["layout"]["yaxis"])
        picture = self.precision([*quiet, {"speedup": 1.5, "low": 0.5, "high": 90, "mark": ""}])
        self.assertTrue(1.7 < picture["layout"]["yaxis"]["range"][1] < 3, picture["layout"]["yaxis"])
        self.assertEqual(len(picture["data"]), 1, "its median is inside: nothing is at the edge")

    def test_an_error_of_zero_has_no_place_on_the_axis_of_errors(self):
        picture = self.precision([{"speedup": 1, "mark": "", "error": 1e-7}, {"speedup": 2, "mark": "", "error": 1e-3}, {"speedup": 4, "mark": "", "error": 0}])
        drawn, exact = picture["data"]
        self.assertEqual(sorted(drawn["x"]), [1e-7, 1e-3])
        self.assertEqual((exact["x"], exact["y"], exact["xaxis"]), ([0], [4], "x2"))
        self.assertIn("error 0", exact["name"])
        self.assertEqual((picture["layout"]["xaxis2"]["range"], picture["layout"]["xaxis2"]["visible"]), ([0, 1], False))
        self.assertGreater(10 ** picture["layout"]["xaxis"]["range"][0], 1e-8, "the axis has room for what is not on it")
        # Exact ones alone.
        picture = self.precision([{"speedup": 4, "mark": "", "error": 0}])
        self.assertEqual([series["xaxis"] for series in picture["data"]], ["x2"])
        self.assertFalse(picture["layout"]["xaxis"]["showticklabels"])

    def plotted(self, problems):
        """The series of a picture with two precisions of each problem, and its labels on 800 by 400 pixels."""
        rows = [{"name": str(i), "precision": p, "problem": f"p{i // 2}", "backend": "b", "median": 1} for i in range(2 * problems)
                for p in [("fp32", "bf16")[i % 2]]]
        points = [{"row": i, "reference": i - i % 2, "executed": rows[i]["precision"], "error": (1e-7, 1e-3)[i % 2], "speedup": (1, 2)[i % 2],
                   "low": (None, 1.9)[i % 2], "high": (None, 2.2)[i % 2], "mark": ""} for i in range(2 * problems)]
        return self.run_script(
            f"(globalThis.rows = {json.dumps(rows)}, ((p) => [p.data, p.labels({{w: 800, h: 400}}, {DRAWN})])"
            f"(precision_plot({json.dumps(points)}, 1000)))"
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
        # With more problems than colours there is a colour for each precision, and no labels.
        data, labels = self.plotted(8)
        self.assertEqual(([series["name"] for series in data], labels), (["fp32", "bf16"], []))

    def test_a_label_with_no_room_near_its_point_is_left_out(self):
        """Columns that have no side of their own become one, whose labels would stand at the other end of the plot."""
        errors = [1e-7 * 1.5**i for i in range(25)]
        rows = [{"name": str(i), "problem": "p", "backend": "b", "median": 1} for i in range(len(errors))]
        points = [{"row": i, "reference": 0, "executed": "fp16 storage, fp32 arithmetic", "error": error, "speedup": 1 + 0.04 * i,
                   "low": None, "high": None, "mark": ""} for i, error in enumerate(errors)]
        labels = self.run_script(f"(globalThis.rows = {json.dumps(rows)}, precision_plot({json.dumps(points)}, 1000).labels({{w: 800, h: 400}}, {DRAWN}))")
        self.assertTrue(0 < len(labels) < len(errors) - 1, len(labels))
        self.assertLess(max(abs(label["ax"]) for label in labels), 250)

    def test_long_labels_of_precisions_lie_on_no_point_and_not_on_the_line(self):
        """A label is as wide as its text is: 214 pixels here, where fp16 and bf16 are 169 apart."""
        kinds = (("fp32", 1e-7), ("fp16 storage, fp32 arithmetic", 1.3e-4), ("bf16 storage, fp32 arithmetic", 1e-3))
        rows = [{"name": kind, "problem": f"p{p}", "backend": "b", "median": 1} for p in range(4) for kind, _ in kinds]
        points = [{"row": 3 * p + k, "reference": 3 * p, "executed": kinds[k][0], "error": kinds[k][1], "speedup": 0.98 + 0.02 * p if k else 1,
                   "low": None, "high": None, "mark": ""} for p in range(4) for k in range(3)]
        labels, (left, right), widths = self.run_script(
            f"(globalThis.rows = {json.dumps(rows)}, ((p) => {{ const all = p.labels({{w: 800, h: 400}}, {DRAWN.replace('2.5', '2')});"
            f" return [all, p.layout.xaxis.range, all.map((label) => text_width(label.text, 10))]; }})(precision_plot({json.dumps(points)}, 1000)))"
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

    def test_a_history_tells_the_value_of_what_is_outside(self):
        points = [{"time": f"2026-01-{i + 1:02d}", "value": 1 + 0.01 * (i % 3), "low": 0.9, "high": 1.1, "shared": False} for i in range(12)]
        far = {"time": "2026-01-20", "value": 30, "low": 20, "high": 40, "shared": False}
        script = f"history_plot({json.dumps({'points': [told(point) for point in [*points, far]]})}, 1000)"
        low, high = self.run_script(script + ".layout")["yaxis"]["range"]
        self.assertTrue(0.8 < low < 0.95 and 1.05 < high < 1.3, (low, high))
        edge = self.run_script(script + ".data")[-1]
        self.assertEqual((edge["x"], edge["y"]), (["2026-01-20"], [high]))
        (label,) = self.run_script(script + f".labels({{}}, {DRAWN.replace('log', 'date')})")
        self.assertEqual((label["text"], label["x"]), ("30", "2026-01-20"))
        # The latest of them is a quarter slower: that is what the plot is for.
        self.assertNotIn("range", self.run_script(f"history_plot({json.dumps({'points': [*points, {**far, 'value': 1.25, 'low': 1.2, 'high': 1.3}]})}, 1000).layout")["yaxis"])

    def test_no_line_leads_over_a_run_without_a_number(self):
        points = [{"time": f"2026-01-0{i + 1}", "value": 1, "low": None, "high": None, "shared": False} for i in (0, 1, 3)]
        series = {"points": points, "gaps": [{"time": "2026-01-03", "status": "failed", "reason": "crashed"}]}
        drawn = self.run_script(f"history_plot({json.dumps(series)}, 1000).data[0]")
        self.assertEqual(drawn["y"], [1, 1, None, 1])
        self.assertEqual(drawn["x"][2], "2026-01-03")
        self.assertFalse(drawn.get("connectgaps", False))

    def test_a_training_that_reaches_nothing_has_no_number(self):
        point = {"images": 32, "row": 0, "trials": 2, "reached": 0, "epochs": {"median": None, "low": None, "high": None}}
        curve = {"name": "c", "full": "c", "target": "0.9"}
        both = self.run_script(f"[[{json.dumps(point)}], [{json.dumps(point)}, {json.dumps({**point, 'images': 64, 'reached': 1, 'epochs': {'median': 4, 'low': 4, 'high': None}})}]]"
                               f".map((points) => convergence_plot([{{...{json.dumps(curve)}, points}}], 'accuracy', 'epochs', 'epochs'))")
        for picture, numbers in zip(both, ([None], [4])):
            line, cross = picture["data"]
            self.assertEqual(line["y"], numbers)
            self.assertEqual((cross["yaxis"], cross["x"]), ("y2", [32]))
            self.assertEqual(picture["layout"]["yaxis2"]["ticktext"], ["not reached"])
            self.assertGreater(picture["layout"]["yaxis2"]["domain"][0], picture["layout"]["yaxis"]["domain"][1], "they share no place")
        self.assertFalse(both[0]["layout"]["yaxis"]["showticklabels"], "an axis without a number has ticks")
        # A bar to a trial that reached nothing goes on to the edge.
        edge = 10 ** both[1]["layout"]["yaxis"]["range"][1]
        self.assertAlmostEqual(both[1]["data"][0]["error_y"]["array"][0], edge - 4)

    def test_intervals_of_coefficients_do_not_flatten_the_estimates(self):
        coefficient = {"term": "t", "speedup": 1.5, "speedup_interval": [1.2, 1.9]}
        model = {"coefficients": [coefficient, {**coefficient, "speedup": 0.8, "speedup_interval": [1e-6, 1e6]}]}
        low, high = self.run_script(f"coefficients_plot({json.dumps(model)}, 1000).layout")["xaxis"]["range"]
        self.assertTrue(-1 < low < math.log10(0.8) and math.log10(1.5) < high < 1, (low, high))

    def test_one_broken_node_does_not_take_the_colours_of_all(self):
        cells = [[{"speedup": 1, "text": "1.00"}, {"speedup": 0.01, "text": "0.01"}]]
        picture = self.run_script(
            f"(report.nodes = {{rows: [{{speedups: [1, 0.01]}}]}}, heat_plot({{hosts: ['a', 'b'], cases: ['c'], cells: {json.dumps(cells)}, extent: heat_extent()}}, 1000))"
        )
        self.assertEqual((picture["data"][0]["zmin"], picture["data"][0]["zmax"]), (-1, 1))
        self.assertEqual(picture["data"][0]["colorbar"]["ticktext"][0], "\u22640.50\u00d7")
        self.assertEqual(picture["data"][0]["text"], [["1.00", "0.01"]])

    def test_efficiency(self):
        curve = {"name": "c", "full": "c", "points": [
            {"count": n, "efficiency": e, "speedup": n * e, "ideal": n, "seconds": 1, "mark": "!" if s else ""}
            for n, e, s in ((1, 1, 0), (2, 0.9, 0), (4, 12, 1))]}
        layout = self.run_script(f"scaling_plot([{json.dumps(curve)}], 'threads', 'efficiency', 'efficiency').layout")
        self.assertEqual(layout["yaxis"]["range"][0], 0)
        self.assertTrue(1.05 <= layout["yaxis"]["range"][1] < 1.2, layout)
        curve["points"] = [{**point, "busbw": point["efficiency"] * 1e9} for point in curve["points"]]
        layout = self.run_script(f"scaling_plot([{json.dumps(curve)}], 'ranks', 'busbw', 'bus bandwidth').layout")
        self.assertTrue(1e9 <= layout["yaxis"]["range"][1] < 1.2e9, layout)

    def test_log_ticks(self):
        """A few round values, whatever the range: never none, never a crowd."""
        for low, high in ((3, 20), (0.4, 300), (1e3, 1e9), (1e-17, 1e-2)):
            ticks = self.run_script(f"log_ticks({low}, {high})")
            self.assertTrue(3 <= len(ticks) <= 12, (low, high, ticks))
            self.assertTrue(all(low * 0.999 <= tick <= high * 1.001 for tick in ticks), ticks)
            self.assertEqual(ticks, sorted(set(ticks)))
        self.assertEqual(self.run_script("log_ticks(3, 60)"), [5, 10, 20, 50])

    def test_labels_are_spread(self):
        self.assertEqual(self.run_script("spread([10, 11, 50], 20, 0, 100)"), [10, 30, 50])
        self.assertEqual(self.run_script("spread([95, 99, 97], 20, 0, 100)"), [60, 100, 80])
        self.assertEqual(self.run_script("levels([{from: 0, to: 10}, {from: 5, to: 15}, {from: 12, to: 20}], 1)"), [0, 1, 0])

    def test_events_on_one_day_have_lines_of_their_own(self):
        points = [{"time": f"2026-01-0{i + 1}", "value": 1, "low": 1, "high": 1, "shared": False} for i in range(5)]
        events = [{"time": "2026-01-03", "text": f"event {i}"} for i in range(3)] + [{"time": "2026-01-05", "text": "at the right edge"}]
        script = f"history_plot({json.dumps({'points': points, 'events': events})}, 400).labels({{}}, {DRAWN.replace('log', 'date')})"
        labels = self.run_script(script)
        self.assertEqual(len(labels), 4)
        self.assertEqual(len({label["yshift"] for label in labels[:3]}), 3)
        self.assertEqual(labels[3]["xanchor"], "right", "it would leave the plot")


if __name__ == "__main__":
    main()
