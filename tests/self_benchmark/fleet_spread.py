#!/usr/bin/env python3
# ratio: fleets of 64 nodes in which `spread` finds the node that is 3 % slow, measured noise, launches as it asks for, over 95 % of them
# target: >= 1
# pairs: 200
# statistic: max
# group: fleet
import json

from support import spread

fleets = spread.fleets_of()
found, alarms, noise = spread.count(fleets, spread.SLOW, 1)
print(json.dumps({"pairs": [[found, 0.95 * fleets]], "unit": "fleets",
                  "note": f"{found} of {fleets} found; another node failed in {alarms}; {noise}"}))
