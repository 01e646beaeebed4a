#!/usr/bin/env python3
# ratio: healthy fleets of 64 nodes in which a node fails by `spread`, measured noise, over their 99.9 % bound at 1 %
# target: <= 1
# pairs: 200
# statistic: max
# group: fleet
import json
import math

from support import spread

fleets = spread.fleets_of()
found, alarms, noise = spread.count(fleets, 1, 2)
failed, below, allowed = found + alarms, 0.0, -1
while below < 0.999:  # binomial
    allowed += 1
    below += math.comb(fleets, allowed) * spread.ALARMS**allowed * (1 - spread.ALARMS) ** (fleets - allowed)
print(json.dumps({"pairs": [[failed, allowed]], "unit": "fleets",
                  "note": f"{failed} of {fleets}, bound {allowed}; {noise}"}))
