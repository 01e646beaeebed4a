#!/usr/bin/env python3
# ratio: verification of a case of gru_lbr:1024-64-1500 by native, linear, fp32, over 60 s
# target: <= 1
# pairs: 1
# statistic: max
# The untimed runs of native, whose results are verified, are no part of it (setup_s has their seconds, and so has the note):
# of a slower backend they take longer, while the reference takes as long.
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 60.0
PAIRS = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 1
program = os.path.join(os.environ["ASSAY_BUILD_DIR"], "bin", "assay-rnn")
pairs, slowest = [], ("", 0.0, 0.0)
for _ in range(PAIRS):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.json"
        done = subprocess.run([program, "--problem", "gru_lbr:1024-64-1500", "--input", "linear", "--backend", "native", "--direction",
                               "forward_training,bwd_data,bwd_weights", "--max-time", "1", "--out", str(out)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        rows = json.loads(out.read_text())["rows"] if out.exists() else []
    if done.returncode != 0 or not rows or any(row["status"] != "ok" for row in rows):
        reasons = "; ".join(f"{row['id']}: {row['reason']}" for row in rows if row["status"] != "ok")
        sys.exit(f"assay-rnn ended with {done.returncode}: {reasons or done.stderr.strip()[-500:]}")
    for row in rows:
        seconds, runs = row["setup_s"]["verify"], row["setup_s"]["untimed_runs"]
        pairs.append([seconds, LIMIT])
        slowest = max(slowest, (row["parameters"]["direction"], seconds, runs), key=lambda found: found[1])
json.dump({"pairs": pairs, "unit": "s", "note": f"{slowest[0]} took longest, and {slowest[2]:.0f} s of untimed runs"}, sys.stdout)
