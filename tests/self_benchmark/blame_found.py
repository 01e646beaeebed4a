#!/usr/bin/env python3
# ratio: real trainings on two ranks, a delay or a hog of 3 % or more and twice slower processors', that blame it alone and why: upper limit over 0.99
# target: >= 1
# pairs: 40
# statistic: max
# group: blame
"""Real jobs of enough steps. A part of them that is really 0.99 is below the exact upper 95 % limit in 19 of 20 calls: so this finds that
blame is right too seldom. More jobs (--pairs 300), or the replays of blame_replay, show that it is right as often as
that."""
import json
import math
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
draw, right, unequal, wrong, costs = random.Random(1), 0, 0, [], []
with tempfile.TemporaryDirectory() as folder:
    for run in range(RUNS):
        rank, out = draw.randrange(2), pathlib.Path(folder) / "row.json"
        if run % 2:  # the hog has half of the processor while it is there
            share = draw.uniform(0.1, 0.5)
            with blame.hog(blame.PROCESSORS[rank], share):
                row, how = blame.decided(out), blame.HOGGED
        else:
            share = draw.uniform(0.05, 0.4)
            row, how = blame.decided(out, rank, 1 - share, 0.02), blame.STOPPED
        ranks, seconds = row["blame"]["ranks"], row["blame"]["seconds"]
        delay = ((ranks[rank]["ready_s"] or 0) - (ranks[1 - rank]["ready_s"] or 0) if run % 2 else share * ranks[rank]["compute_s"]) / seconds
        # A processor that is much slower delays a rank itself: nobody knows then who must be blamed.
        if delay < 0.03 or blame.slower_processor(row) > delay / 2:
            unequal += 1
            out.unlink()
            continue
        costs += [row["blame"]["ranks"][rank]["cost_s"] / row["blame"]["seconds"]]
        if blame.blamed(row) == [(rank, how)]:
            right += 1
        else:
            wrong.append(f"rank {rank}, {how}, {100 * share:.0f} % of its time: {blame.blamed(row)} {row['blame']['undecided']}")
        out.unlink()


if unequal > RUNS / 4:  # else few jobs, or those of one kind, would speak for all
    print(json.dumps({"skip": f"in {unequal} of {RUNS} jobs processors differ by half of the delay or more, or the delay is unknown"}))
    sys.exit(0)
RUNS -= unequal


def at_most(count, part):
    """The probability that so many of the jobs are right, or fewer, if this part of all is."""
    return math.fsum(math.comb(RUNS, i) * part**i * (1 - part) ** (RUNS - i) for i in range(count + 1))


def limit(holds):
    """The part up to which something holds."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


# The exact one-sided 95 % limits (Clopper & Pearson, Biometrika 26, 1934).
most = 1.0 if right == RUNS else limit(lambda part: at_most(right, part) >= 0.05)
least = 0.0 if right == 0 else limit(lambda part: at_most(right - 1, part) > 0.95)
print(json.dumps({"pairs": [[most, 0.99]], "unit": "part of jobs",
                  "note": f"{right} of {RUNS} real jobs of {blame.STEPS} steps ({100 * least:.1f} to {100 * most:.1f} %, exact one-sided 95 % limits), "
                          f"{unequal} others delayed by less than 3 % or than twice what slower processors did, delays cost {100 * min(costs):.1f} to {100 * max(costs):.1f} %; {'; '.join(wrong) or 'none was wrong'}"}))
