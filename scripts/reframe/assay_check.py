"""A ReFrame check that runs a suite of Assay and reports the time of each verified row (ReFrame 4).

  reframe -c scripts/reframe -r -S AssayCheck.suite=smoke -S AssayCheck.assay=/path/to/bin/assay

It fails where `assay run` does: exit 3 incorrect, 6 nothing was measured, 7 a row failed or timed out, 9 a training missed its
target (docs/results.md). With `reference_result`, the result.json of an earlier run on the same system, a row that is slower than
there by more than `tolerance` fails, too, and so does one that has a number there and none here; `assay compare` and `assay run --guard` decide this with statistics, so prefer them where both are at hand."""
import json
import os
import re
import statistics

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_before, sanity_function, variable


def variable_name(row_id):
    """ReFrame separates the parts of a reference by colons."""
    return re.sub(r"[:\s]", "_", row_id)


def seconds_by_id(result):
    """The median over the launches of each id all of whose rows are ok; published numbers are not measurements."""
    launches, wrong = {}, set()
    for row in result["rows"]:
        if row.get("published"):
            continue
        if row["status"] == "ok":
            launches.setdefault(row["id"], []).append(row["time_s"]["median"])
        else:
            wrong.add(row["id"])
    return {row_id: statistics.median(times) for row_id, times in launches.items() if row_id not in wrong}


@rfm.simple_test
class AssayCheck(rfm.RunOnlyRegressionTest):
    descr = "A suite of Assay: verified kernels, collectives and training"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None

    suite = variable(str, value="smoke")
    assay = variable(str, value="assay")
    words = variable(str, value="")  # further words of `assay run`, for example "--launches 5"
    reference_result = variable(str, value="")
    tolerance = variable(float, value=0.1)

    @run_before("run")
    def set_command(self):
        self.executable = self.assay
        self.executable_opts = ["run", self.suite, "--out", "result", *self.words.split()]
        # `assay run` starts the ranks itself: by mpirun, or by the launcher that --launcher names.
        self.job.launcher = getlauncher("local")()

    def result(self):
        with open(os.path.join(self.stagedir, "result", "result.json")) as file:
            return json.load(file)

    def times_before(self):
        if not self.reference_result:
            return {}
        with open(self.reference_result) as file:
            return seconds_by_id(json.load(file))

    @sanity_function
    def verified(self):
        if self.job.exitcode != 0:  # there may be no result file
            return sn.assert_eq(self.job.exitcode, 0, "assay run ended with {0}")
        rows = self.result()["rows"]
        bad = [f"{row['id']}: {row['status']}: {row['reason']}" for row in rows if row["status"] not in ("ok", "unsupported")]
        times = seconds_by_id(self.result())
        lost = [row_id for row_id in self.times_before() if row_id not in times]
        return sn.all([
            sn.assert_false(bad, "; ".join(bad[:5])),
            sn.assert_true(times, "no row has a verified time"),
            sn.assert_false(lost, "no number, other than in the reference: " + ", ".join(lost)),
        ])

    @run_before("performance")
    def read_times(self):
        times = seconds_by_id(self.result())
        self.perf_variables = {variable_name(row_id): sn.make_performance_function(lambda value=value: value, "s")
                               for row_id, value in times.items()}
        if before := self.times_before():
            self.reference = {"*": {variable_name(row_id): (before[row_id], None, self.tolerance, "s")
                                    for row_id in times if row_id in before}}
