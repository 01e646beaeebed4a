#!/usr/bin/env python3
# ratio: real trainings of 1500 steps on two equal ranks, on both processors in turns, that blame one, over their 99.9 % bound at 1 %
# target: <= 1
# pairs: 40
# statistic: max
# group: blame
import json
import math
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import blame  # noqa: E402

RUNS, FALSE = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 40, 0.01
if reason := blame.why_not_two():
    print(json.dumps({"skip": reason}))
    sys.exit(0)
found, undecided, widest = [], 0, 0
with tempfile.TemporaryDirectory() as folder:
    for job in range(RUNS):
        row = blame.two_ranks(blame.DECIDED, pathlib.Path(folder) / f"{job}.json", equal=True)
        found += [f"{one['rank']}, {one['how']}, {100 * one['cost']:.1f} %" for one in row["blame"]["blamed"]]
        undecided += row["blame"]["undecided"] is not None
        widest = max(widest, row["blame"]["resolution"])
below, allowed = 0.0, -1
while below < 0.999:  # binomial
    allowed += 1
    below += math.comb(RUNS, allowed) * FALSE**allowed * (1 - FALSE) ** (RUNS - allowed)
print(json.dumps({"pairs": [[len(found), allowed]], "unit": "real jobs",
                  "note": f"{len(found)} of {RUNS}, bound {allowed}; {undecided} undecided; widest interval ±{100 * widest:.1f} %; {'; '.join(found)}"}))
