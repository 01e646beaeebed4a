#!/usr/bin/env python3
# ratio: size of the page of 1,000 nodes with 200 rows each, and of their acceptance, over 30 MB
# target: <= 1
# pairs: 1
# statistic: max
# group: fleet
from support import fleet

with fleet.Nodes() as nodes:
    nodes.accept()
    nodes.report()
    size = (nodes.work / "report.html").stat().st_size
fleet.claim([size], 30e6, "B", f"{size / 1e6:.2f} MB, with plotly.js; {nodes.note}")
