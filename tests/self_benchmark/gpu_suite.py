#!/usr/bin/env python3
# ratio: the time of the whole suite coral2-gpu over 30 minutes
# target: <= 1
# pairs: 1
# statistic: max
# group: gpu
# order: 33
from support import gpu

rows, whole, seconds, known = gpu.suite(30, go_on=True)
gpu.refuse_wrong(rows)
note = gpu.states(rows) + ("" if whole else ", not all of the suite") + ("" if known else ", and a run that was killed")
gpu.tell(pairs=[[seconds, 1800]], unit="s", at_least=not (whole and known), note=note)
