#!/usr/bin/env python3
# ratio: the slowest command that reads 11,343 rows of 199 nodes (validate, table, model, compare, also with as many rows of a second side, history, accept, also with 20,000 missing nodes, report, gather) over 5 s
# target: <= 1
# pairs: 1
# statistic: max
# group: fleet
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import load  # noqa: E402

load.claim(5.0, "s", 0)
