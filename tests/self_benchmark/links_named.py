#!/usr/bin/env python3
# ratio: bisections of four hosts that name the link which is shaped to half, and no other, over 20
# target: >= 1
# pairs: 20
# statistic: max
# group: links
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import links  # noqa: E402

RUNS = 20
if reason := links.why_not():
    print(json.dumps({"skip": reason}))
    sys.exit(0)
draw, right, wrong = random.Random(1), 0, []
for run in range(RUNS):
    slow, other = draw.sample(links.NAMES, 2)
    to = other if run % 2 else None  # its whole link, or its path to another host
    said = links.named(links.row_of(slow, to))
    if said == ["+".join(sorted((slow, to))) if to else slow]:
        right += 1
    else:
        wrong.append(f"{slow} to {to}: {said}")
print(json.dumps({"pairs": [[right, RUNS]], "unit": "links", "note": f"{right} of {RUNS} named alone; {'; '.join(wrong) or 'no other was'}"}))
