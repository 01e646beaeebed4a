#!/usr/bin/env python3
# ratio: assay accept of the gathered file of 1,000 nodes with 200 rows each over 30 s; it finds the slow, the wrong and the absent node
# target: <= 1
# pairs: 6
# group: fleet
from support import fleet

with fleet.Nodes() as nodes:
    nodes.gather()
    costs = [nodes.accept(nodes.work / "fleet.json") for _ in range(fleet.PAIRS)]
times = [seconds for seconds, _ in costs]
fleet.claim(times, 30.0, "s", f"slowest {max(times):.1f} s, {max(peak for _, peak in costs) / 1e6:.0f} MB; {nodes.note}")
