#!/usr/bin/env python3
# ratio: the pre-flight of two ranks (start by mpirun, cores read back, threads tried) over 2 s
# target: <= 1
# pairs: 6
import os
import subprocess
import sys
import time

from support import analytics

LIMIT = 2.0
BIN = analytics.BIN
# A single thread is not tried.
THREADS = min(2, len(os.sched_getaffinity(0)))
times = []
for _ in range(analytics.pairs_asked(6)):
    start = time.monotonic()
    done = subprocess.run(["mpirun", "-n", "2", "--bind-to", "none", str(BIN / "assay"), "placement", "--threads",
                           str(THREADS)], check=True, text=True, stdout=subprocess.PIPE)
    times.append(time.monotonic() - start)
    if done.stdout.count("assay-placement ") != 2:
        sys.exit(f"two ranks were expected to tell their places: {done.stdout}")
    if done.stdout.count('"fault":""') != 2:
        sys.exit(f"two ranks were expected to have {THREADS} threads: {done.stdout}")
analytics.tell(pairs=[[seconds, LIMIT] for seconds in times], unit="s", note=f"slowest {max(times):.2f} s, threads tried: {THREADS}")
