#!/usr/bin/env python3
# ratio: greatest resident memory of assay gather of 1,000 nodes with 200 rows each over 1 GB
# target: <= 1
# pairs: 2
# statistic: max
# group: fleet
from support import fleet

with fleet.Nodes() as nodes:
    peaks = [nodes.gather()[1] for _ in range(min(fleet.PAIRS, 2))]
fleet.claim(peaks, 1e9, "B", f"{max(peaks) / 1e6:.0f} MB; {nodes.note}")
