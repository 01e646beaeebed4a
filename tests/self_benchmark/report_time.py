#!/usr/bin/env python3
# ratio: assay report of 10,000 rows over 5 s
# target: <= 1
# pairs: 10
import pathlib
import tempfile

from support.report_case import PAIRS, claim, large_result, report

LIMIT = 5.0
with tempfile.TemporaryDirectory() as folder:
    file = large_result(folder, 10000)
    times = [report(file, pathlib.Path(folder) / "report.html")[0] for _ in range((PAIRS or 10) + 1)][1:]
claim([[t, LIMIT] for t in times], "s", f"slowest of {len(times)} runs {max(times):.2f} s")
