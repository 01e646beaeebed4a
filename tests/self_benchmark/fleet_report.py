#!/usr/bin/env python3
# ratio: assay report of 1,000 nodes with 200 rows each, and of their acceptance, over 30 s
# target: <= 1
# pairs: 6
# group: fleet
from support import fleet

with fleet.Nodes() as nodes:
    nodes.accept()
    costs = [nodes.report() for _ in range(fleet.PAIRS)]
times = [seconds for seconds, _ in costs]
fleet.claim(times, 30.0, "s", f"slowest {max(times):.1f} s, {max(peak for _, peak in costs) / 1e6:.0f} MB; {nodes.note}")
