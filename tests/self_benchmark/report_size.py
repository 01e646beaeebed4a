#!/usr/bin/env python3
# ratio: size of the page of 10,000 rows over 12 MB
# target: <= 1
# pairs: 1
# statistic: max
import pathlib
import tempfile

from support.report_case import PAIRS, claim, large_result, report

LIMIT = 12e6
with tempfile.TemporaryDirectory() as folder:
    out = pathlib.Path(folder) / "report.html"
    report(large_result(folder, 10000), out)
    size = out.stat().st_size
claim([[size, LIMIT]] * (PAIRS or 1), "B", f"{size / 1e6:.2f} MB, with plotly.js")
