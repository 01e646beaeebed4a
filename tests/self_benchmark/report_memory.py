#!/usr/bin/env python3
# ratio: greatest resident memory of assay report of 10,000 rows over 500 MB
# target: <= 1
# pairs: 3
# statistic: max
import pathlib
import tempfile

from support.report_case import PAIRS, claim, large_result, report

LIMIT = 500e6
with tempfile.TemporaryDirectory() as folder:
    file = large_result(folder, 10000)
    peaks = [report(file, pathlib.Path(folder) / "report.html")[1] for _ in range(PAIRS or 3)]
claim([[p, LIMIT] for p in peaks], "B", f"greatest of {len(peaks)} runs {max(peaks) / 1e6:.0f} MB")
