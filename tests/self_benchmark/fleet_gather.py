#!/usr/bin/env python3
# ratio: assay gather of 1,000 nodes with 200 rows each into one file over 10 s
# target: <= 1
# pairs: 6
# group: fleet
from support import fleet

with fleet.Nodes() as nodes:
    nodes.gather()  # brings the files into memory
    times = [nodes.gather()[0] for _ in range(fleet.PAIRS)]
fleet.claim(times, 10.0, "s", f"slowest {max(times):.1f} s; {nodes.note}")
