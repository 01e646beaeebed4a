#!/usr/bin/env python3
"""The large-batch study from the suite to the picture, with a few hundred images: suites/batch-convergence.json."""
import json
import re

from run_helper import ASSAY, SOURCE, RunTest, main, read_report

SUITE = SOURCE / "suites" / "batch-convergence.json"
SMALL = {"problem": ["d18w8s32c5"], "data": ["learnable:n320v100"], "batch": ["16"], "accumulate": [1, 5], "epochs": [3], "threads": [1]}


def quick(target, **more):
    """The suite, but for its size."""
    suite = json.loads(SUITE.read_text())
    suite["timing"] = {"max_time": 0.02}
    for case in suite["cases"]:
        case.update(SMALL, target=[target], trial=[0, 1], steps=[2], **more)
    return suite


class BatchConvergence(RunTest):
    def measured(self, suite, code=0):
        file = self.folder / "quick.json"
        file.write_text(json.dumps(suite))
        self.run_suite(file, code=code)
        page = self.folder / "report.html"
        self.command(ASSAY, "report", self.out, "-o", page, code=0)
        found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.S).group(1)
        return self.rows(), read_report(found)

    def test_the_suite(self):
        self.command(ASSAY, "validate", SUITE, code=0)
        listed = self.command(ASSAY, "run", SUITE, "--list", code=0, cwd=self.folder).stdout.splitlines()
        self.assertEqual(len([line for line in listed if line.startswith("resnet50/")]), 4 * 4 * 3)

    def test_epochs_and_time_by_batch(self):
        rows, page = self.measured(quick("0.3"))
        self.expect_ok(rows, 4 * 2 * 2)
        curves = page["convergence"]
        self.assertEqual(len(curves), 4)
        # The four are told apart by what the study varies.
        names = [curve["name"] for curve in curves]
        self.assertEqual(len(set(names)), 4, names)
        for word in ("scaling none", "warmup 2", "optimizer lars"):
            self.assertTrue(any(word in name for name in names), names)
        for curve in curves:
            self.assertEqual([point["images"] for point in curve["points"]], [16, 80])
            for point in curve["points"]:
                its = [row for row in rows if row["problem"]["global_batch_size"] == point["images"]
                       and curve_of(row) == curve_of(rows_by_id(rows, page, point["row"]))]
                self.assertEqual((len(its), point["trials"], len(point["rows"])), (2, 2, 2))
                reached = [row for row in its if "time_to_accuracy_s" in row["metrics"]]
                self.assertEqual(point["reached"], len(reached))
                for row in its:
                    self.assertEqual("time_to_accuracy_s" in row["metrics"], row["epochs"][-1]["accuracy"] >= 0.3)
                if len(reached) == 2:
                    for name, key in (("epochs", "epochs"), ("seconds", "time_to_accuracy_s")):
                        values = sorted(row["metrics"][key]["value"] for row in reached)
                        self.assertEqual([point[name]["low"], point[name]["high"]], values)
                        self.assertAlmostEqual(point[name]["median"], sum(values) / 2)
                else:
                    self.assertIsNone(point["epochs"]["high"])
        self.assertTrue(any(point["reached"] for curve in curves for point in curve["points"]), "nothing was learnt")
        trials = {row["parameters"]["trial"]: row["epochs"][0]["training_loss"] for row in rows
                  if curve_of(row) == curve_of(rows[0]) and row["parameters"]["accumulate"] == 1}
        self.assertEqual(len(set(trials.values())), 2, "trials are the same run")

    def test_what_is_not_reached(self):
        suite = quick("1")
        suite["cases"] = suite["cases"][1:2]
        rows, page = self.measured(suite)
        for row in self.expect_ok(rows, 4):
            self.assertEqual(len(row["epochs"]), 3)
            self.assertNotIn("time_to_accuracy_s", row["metrics"])
            self.assertNotIn("epochs", row["metrics"])
        (curve,) = page["convergence"]
        for point in curve["points"]:
            self.assertEqual((point["reached"], point["epochs"]["median"], point["seconds"]["low"]), (0, None, None))
            self.assertEqual(point["accuracy"], max(row["epochs"][-1]["accuracy"] for row in rows
                                                    if row["problem"]["global_batch_size"] == point["images"]))

    def test_a_training_without_result_has_reached_nothing(self):
        suite = quick("1", unreached=["incorrect"])
        suite["cases"] = suite["cases"][1:2]
        rows, page = self.measured(suite, code=9)
        self.assertEqual({row["status"] for row in rows}, {"target missed"})
        (curve,) = page["convergence"]
        for point in curve["points"]:
            self.assertEqual((point["trials"], point["reached"], point["epochs"]["low"], point["accuracy"]), (2, 0, None, None))


def curve_of(row):
    """The parameters that a curve has in common."""
    return tuple(str(row["parameters"][name]) for name in ("scaling", "warmup", "optimizer"))


def rows_by_id(rows, page, index):
    """The row of the file that is this one of the page."""
    return next(row for row in rows if row["id"] == page["rows"][index]["id"])


if __name__ == "__main__":
    main(verbosity=2)
