#!/usr/bin/env python3
# ratio: real A/A comparisons of a short suite with a false alarm, over their 99.9 % bound at 1 %
# target: <= 1
# statistic: max
# group: calibration
"""--pairs N: that many comparisons (5 + 5 launches, 15 + 15 of what is flagged), or as many as --minutes M allow. Figures on stderr."""
import argparse
import json
import math
import os
import pathlib
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import two_builds  # noqa: E402

RATE = 0.01
PROBLEMS = [f"mb1ic{c}ih{s}oc{c}oh{s}kh{k}" + ("ph1" if k == 3 else "") for c in (8, 16) for s in (8, 12, 16) for k in (1, 3)]


def below(k, n, p):
    """P(Bin(n, p) <= k)."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def clopper_pearson_upper(k, n, tail=0.05):
    low, high = k / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if k < n and below(k, n, middle) > tail else (low, middle)
    return high if k < n else 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--minutes", type=float)
    given = parser.parse_args()
    build = pathlib.Path(os.environ.get("ASSAY_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build"))
    end = time.monotonic() + 60 * given.minutes if given.minutes else None
    done, alarms, counts = 0, 0, {"faster": 0, "slower": 0, "same": 0, "inconclusive": 0, "flagged": 0}
    while time.monotonic() < end if end else done < given.pairs:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-aa-"))
        try:
            other = two_builds.build_with(build, folder / "other", OMP_NUM_THREADS=1)
            document = two_builds.compared(build, two_builds.suite(folder, PROBLEMS, "reference", 0.01), folder, other)
        finally:
            shutil.rmtree(folder)
        done += 1
        for verdict in ("faster", "slower", "same", "inconclusive"):
            counts[verdict] += document["summary"][verdict]
        counts["flagged"] += document["settings"]["flagged"]
        false = [row for row in document["rows"] if row["verdict"] in ("faster", "slower")]
        alarms += bool(false)
        for row in false:
            print(f"false alarm: {row['id']} {row['verdict']} {row['ratio']:.4f} {row['interval']} p {row['p']:.2g}", file=sys.stderr)
        print(f"{done} comparisons, {alarms} with a false alarm: the rate is at most {clopper_pearson_upper(alarms, done):.3g} "
              f"(Clopper-Pearson, 95 %); rows: {counts}", file=sys.stderr, flush=True)
    allowed = next(k for k in range(done + 1) if below(k, done, RATE) >= 0.999)
    json.dump({"pairs": [[alarms, max(1, allowed)]], "unit": "comparisons",
               "note": f"{alarms} of {done}, rate at most {clopper_pearson_upper(alarms, done):.3g} with 95 % confidence"}, sys.stdout)


main()
