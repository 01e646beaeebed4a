#!/usr/bin/env python3
# ratio: assay run's time over its executable's alone and 50 ms a case (40 short convolutions, start and result included)
# target: <= 1
# pairs: 6
import json
import pathlib
import subprocess
import tempfile
import time

from support import analytics

CASES, LIMIT = 40, 0.05
BIN = analytics.BIN
SUITE = {"schema": "assay-suite/1", "name": "overhead", "ceilings": False, "timing": {"max_time": 0.01},
         "cases": [{"benchmark": "conv", "problem": [f"mb{n}ic8ih8oc8oh8kh3ph1" for n in range(1, CASES + 1)],
                    "backend": ["reference"], "threads": [1]}]}


def seconds(*words):
    start = time.monotonic()
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


with tempfile.TemporaryDirectory() as place:
    folder = pathlib.Path(place)
    suite = folder / "overhead.json"
    suite.write_text(json.dumps(SUITE))
    pairs = []
    for pair in range(analytics.pairs_asked(6)):
        run = seconds(BIN / "assay", "run", suite, "--out", folder / f"run-{pair}")
        alone = seconds(BIN / "assay-conv", "--suite", suite, "--out", folder / f"alone-{pair}.json")
        pairs.append([run, alone + CASES * LIMIT])
        added = (run - alone) / CASES
analytics.tell(pairs=pairs, unit="s", note=f"{CASES} cases; {added * 1e3:.1f} ms a case in the last pair")
