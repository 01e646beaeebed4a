#!/usr/bin/env python3
# ratio: assay gather of 1,000 nodes with 200 rows each into one file over 10 s
# target: <= 1
# pairs: 6
# group: fleet
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import fleet  # noqa: E402

with fleet.Nodes() as nodes:
    nodes.gather()  # brings the files into memory
    times = [nodes.gather()[0] for _ in range(fleet.PAIRS)]
fleet.claim(times, 10.0, "s", f"slowest {max(times):.1f} s; {nodes.note}")
