#!/usr/bin/env python3
# full: needs ReFrame
"""scripts/reframe/assay_check.py under ReFrame: it passes with the times of the result file, and fails for wrong and slower rows."""
import json
import os

from pipeline_helper import tool
from run_helper import ASSAY, SMALL, SOURCE, RunTest, group, main

OTHER = "mb1ic8ih8oc16oh8kh3ph1"


class ReFrame(RunTest):
    def reframe(self, suite, code, *more, env=None):
        self.reports = self.folder / "report.json"
        words = [tool("reframe"), "-c", SOURCE / "scripts" / "reframe", "-r", "--prefix", self.folder / "prefix", "--keep-stage-files",
                 "--report-file", self.reports, "-S", f"AssayCheck.suite={suite}", "-S", f"AssayCheck.assay={ASSAY}", *more]
        environment = env or self.environment(ASSAY_FAULT_INNER="reference")
        done = self.command(*words, env={**environment, "HOME": str(self.folder), "PATH": os.environ["PATH"]}, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def times(self):
        (result,) = (self.folder / "prefix").rglob("result.json")
        launches = {}
        for row in json.loads(result.read_text())["rows"]:
            launches.setdefault(row["id"], []).append(row["time_s"]["median"])
        return result, {row_id: sorted(times) for row_id, times in launches.items()}

    def reported(self):
        (run,) = json.loads(self.reports.read_text())["runs"]
        (case,) = run["testcases"]
        return {name.rpartition(":")[2]: values[0] for name, values in case["perfvalues"].items()}

    def good_suite(self):
        return self.suite([group(["direct"], [SMALL, OTHER], backend="reference")], launches=3)

    def test_times_of_the_result_file(self):
        self.reframe(self.good_suite(), 0)
        _, launches = self.times()
        self.assertEqual(len(launches), 2)
        self.assertEqual(self.reported(), {row_id: times[1] for row_id, times in launches.items()})

    def test_a_slower_row_fails(self):
        self.reframe(self.good_suite(), 0)
        result, _ = self.times()
        reference = json.loads(result.read_text())
        for row in reference["rows"]:
            row["time_s"]["median"] /= 100
        file = self.folder / "reference.json"
        file.write_text(json.dumps(reference))
        text = self.reframe(self.good_suite(), 1, "-S", f"AssayCheck.reference_result={file}")
        self.assertIn("failed to meet reference", text)

    def test_a_row_of_the_reference_without_a_number_fails_by_name(self):
        self.reframe(self.good_suite(), 0)
        result, launches = self.times()
        lost = next(row_id for row_id in launches if OTHER in row_id)
        file = self.folder / "reference.json"
        file.write_text(result.read_text())
        smaller = self.suite([group(["direct"], [SMALL], backend="reference")], launches=3, name="smaller")
        text = self.reframe(smaller, 1, "-S", f"AssayCheck.reference_result={file}")
        self.assertIn(f"no number, other than in the reference: {lost}", text)

    def test_wrong_and_missing_rows_fail(self):
        wrong = self.suite([group(["direct"], [SMALL], backend="reference"), group(["wrong_element"], [OTHER])], name="wrong")
        self.assertIn("assay run ended with 3", self.reframe(wrong, 1))
        nothing = self.suite([group(["none_such"], [SMALL], backend="reference")], name="nothing")
        self.reframe(nothing, 1)


if __name__ == "__main__":
    main(verbosity=2)
