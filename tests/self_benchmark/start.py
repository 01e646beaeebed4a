#!/usr/bin/env python3
# ratio: a trivial standalone case, process start to exit, over 0.3 s
# target: <= 1
# pairs: 30
import json
import os
import subprocess
import sys
import tempfile
import time

LIMIT = 0.3
pairs = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 30
program = os.path.join(os.environ["ASSAY_BUILD_DIR"], "bin", "assay-conv")
times = []
with tempfile.TemporaryDirectory() as folder:
    out = os.path.join(folder, "row.json")
    command = [program, "--problem", "mb1ic8ih8oc8oh8kh3ph1", "--direction", "forward", "--precision", "fp32",
               "--backend", "onednn", "--algorithm", "direct", "--out", out]
    for run in range(pairs + 1):  # the first brings the files into memory
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
        with open(out) as file:
            row = json.load(file)["rows"][0]
        if row["status"] != "ok":
            print(json.dumps({"skip": row["reason"]}))
            sys.exit(0)
        if run > 0:
            times.append(seconds)
json.dump({"pairs": [[t, LIMIT] for t in times], "unit": "s", "note": f"slowest of {pairs} starts {max(times):.3f} s"},
          sys.stdout)
