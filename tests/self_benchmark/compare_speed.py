#!/usr/bin/env python3
# ratio: assay compare of two files of 10,000 rows (2000 ids, 5 launches each), process start to exit, over 2 s
# target: <= 1
# pairs: 10
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

LIMIT = 2.0
pairs = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 10
source = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(source / "tests" / "support"))
import make_results  # noqa: E402
program = os.path.join(os.environ["ASSAY_BUILD_DIR"], "bin", "assay")
times = []
with tempfile.TemporaryDirectory() as folder:
    files = [os.path.join(folder, name) for name in ("base.json", "new.json")]
    for number, file in enumerate(files):
        with open(file, "w") as out:
            json.dump(make_results.document(rows=2000, noise_seed=number, started=f"2026-01-05T12:0{number}:00.000Z"), out)
    command = [program, "compare", *files, "--vary", "nothing", "--out", os.path.join(folder, "out.txt")]
    for run in range(pairs + 1):  # the first brings the files into memory
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        seconds = time.perf_counter() - start
        if done.returncode not in (0, 5):
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
        if run > 0:
            times.append(seconds)
json.dump({"pairs": [[t, LIMIT] for t in times], "unit": "s", "note": f"slowest of {pairs} {max(times):.2f} s"}, sys.stdout)
