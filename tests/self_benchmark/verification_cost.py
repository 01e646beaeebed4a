#!/usr/bin/env python3
# ratio: whole processes of trainings, K-means and input rows over those of the build in ASSAY_EARLIER_BUILD
# target: <= 1.10
# pairs: 30
"""The cost of checks that were added: start, checks and samples of a program of this build, and of a build of an
earlier commit."""
import os
import pathlib
import subprocess
import time

from support import analytics

QUICK = "--max-time 0.5 --quiet"
CASES = [f"assay-resnet50 --problem d18w8s32c10 --backend native --batch 64 --steps 10 {QUICK}",
         f"assay-resnet50 --problem d18w8s32c10 --backend native --precision bf16 --batch 64 --steps 10 {QUICK}",
         "assay-resnet50 --problem d18w8s16c10 --data learnable:n8000v500 --backend native --batch 64 --epochs 4 --steps 3 --target 1 "
         "--unreached kept --quiet",
         f"assay-kmeans --problem n262144d50 --clusters 10 {QUICK}",
         f"assay-input --problem n64mb32s224 {QUICK}"]


def seconds(folder, case):
    program, *words = case.split()
    environment = {**os.environ, "ASSAY_BIN_DIR": str(folder)}
    start = time.monotonic()
    subprocess.run([folder / program, *words], check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


earlier = os.environ.get("ASSAY_EARLIER_BUILD")
if not earlier:
    analytics.tell(skip="ASSAY_EARLIER_BUILD names no build folder of an earlier commit")
folders = [analytics.BIN, pathlib.Path(earlier) / "bin"]
pairs = []
for pair in range(analytics.pairs_asked(30)):
    case = CASES[pair % len(CASES)]
    order = folders if pair % 2 else folders[::-1]
    times = {folder: seconds(folder, case) for folder in order}
    pairs.append([times[folder] for folder in folders])
analytics.tell(pairs=pairs, unit="s", note=f"{len(CASES)} cases in turn")
