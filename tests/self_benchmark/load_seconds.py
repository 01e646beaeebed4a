#!/usr/bin/env python3
# ratio: the slowest command that reads 11,343 rows of 199 nodes (validate, table, model, compare, also with as many rows of a second side, history, accept, also with 20,000 missing nodes, report, gather) over 5 s
# target: <= 1
# pairs: 1
# statistic: max
# group: fleet
from support import load

load.claim(5.0, "s", 0)
