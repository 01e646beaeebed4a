#!/usr/bin/env python3
# ratio: trainings on two ranks that blame the rank with a delay or a hog of more than 3 %, that one alone and why, over 99 % of them
# target: >= 1
# pairs: 40
# statistic: max
# group: blame
import json
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import blame  # noqa: E402

RUNS = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 40
if reason := blame.why_not_two():
    print(json.dumps({"skip": reason}))
    sys.exit(0)
draw, right, wrong, costs = random.Random(1), 0, [], []
with tempfile.TemporaryDirectory() as folder:
    for run in range(RUNS):
        rank, share, out = draw.randrange(2), draw.uniform(0.06, 0.4), pathlib.Path(folder) / "row.json"
        words = (*blame.TRAIN, "--max-time", 3)
        if run % 2:
            with blame.hog(blame.PROCESSORS[rank], share):
                row, how = blame.two_ranks(words, out), blame.HOGGED
        else:
            row, how = blame.two_ranks(words, out, rank, 1 - share, 0.02), blame.STOPPED
        costs += [row["blame"]["ranks"][rank]["cost_s"] / row["blame"]["seconds"]]
        if blame.blamed(row) == [(rank, how)]:
            right += 1
        else:
            wrong.append(f"rank {rank}, {how}, {100 * share:.0f} % of its time: {blame.blamed(row)} {row['blame']['undecided']}")
        out.unlink()
print(json.dumps({"pairs": [[right, 0.99 * RUNS]], "unit": "jobs",
                  "note": f"{right} of {RUNS}, delays cost {100 * min(costs):.1f} to {100 * max(costs):.1f} %; {'; '.join(wrong) or 'none was wrong'}"}))
