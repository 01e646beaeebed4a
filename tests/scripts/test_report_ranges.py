#!/usr/bin/env python3
"""The axes of the report's plots: one row of a busy moment does not flatten the rest (the script's own functions, run by Node)."""
import json
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
"""


@unittest.skipUnless(shutil.which("node"), "there is no node")
class Ranges(unittest.TestCase):
    def run_script(self, script):
        files = [SOURCE / "analysis" / "report" / name for name in ("report_plots.js", "report_plots_documents.js")]
        text = BROWSER + "".join(pathlib.Path(file).read_text() for file in files) + f"\nconsole.log(JSON.stringify({script}));"
        done = subprocess.run(["node", "-e", text], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def precision(self, points):
        rows = [{"name": str(i), "precision": "bf16", "median": 1} for i in range(len(points))]
        points = [{"row": i, "reference": 0, "error": 1e-3, **point} for i, point in enumerate(points)]
        return self.run_script(f"(globalThis.rows = {json.dumps(rows)}, precision_plot({json.dumps(points)}).layout)")

    def test_precision(self):
        quiet = [{"speedup": 1, "shared": 0}, {"speedup": 2, "shared": 0}]
        layout = self.precision([*quiet, {"speedup": 50, "shared": 1}])
        self.assertEqual(layout["yaxis"]["range"][0], 0)
        self.assertTrue(2 < layout["yaxis"]["range"][1] < 3, layout)
        self.assertIn("1 point of a busy moment outside", layout["annotations"][0]["text"])
        # All inside, all quiet, or none quiet: Plotly chooses.
        for points in ([*quiet, {"speedup": 1.5, "shared": 1}], quiet, [{"speedup": 1, "shared": 1}, {"speedup": 50, "shared": 1}]):
            layout = self.precision(points)
            self.assertNotIn("range", layout["yaxis"])
            self.assertEqual(layout["annotations"], [])

    def test_history(self):
        points = [{"time": f"2026-01-0{i + 1}", "value": 1 + 0.01 * i, "low": 0.9, "high": 1.1, "shared": False} for i in range(5)]
        points.append({"time": "2026-01-07", "value": 30, "low": 20, "high": 40, "shared": True})
        layout = self.run_script(f"history_plot({json.dumps({'points': points})}).layout")
        low, high = layout["yaxis"]["range"]
        self.assertTrue(0.8 < low < 0.9 and 1.1 < high < 1.2, layout["yaxis"])
        layout = self.run_script(f"history_plot({json.dumps({'points': points[:5]})}).layout")
        self.assertNotIn("range", layout["yaxis"])

    def test_efficiency(self):
        curve = {"name": "c", "full": "c", "points": [
            {"count": n, "efficiency": e, "speedup": n * e, "ideal": n, "seconds": 1, "shared": s}
            for n, e, s in ((1, 1, 0), (2, 0.9, 0), (4, 12, 1))]}
        layout = self.run_script(f"scaling_plot([{json.dumps(curve)}], 'threads', 'efficiency', 'efficiency').layout")
        self.assertEqual(layout["yaxis"]["range"][0], 0)
        self.assertTrue(1.05 <= layout["yaxis"]["range"][1] < 1.2, layout)


if __name__ == "__main__":
    main()
