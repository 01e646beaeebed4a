#!/usr/bin/env python3
# ratio: assay run precision over 300 s
# target: <= 1
# pairs: 1
# statistic: max
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 300.0
PAIRS = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 1
program = os.path.join(os.environ["ASSAY_BUILD_DIR"], "bin", "assay")
pairs = []
for _ in range(PAIRS):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "precision"
        done = subprocess.run([program, "run", "precision", "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"assay run precision ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        result = json.loads((out / "result.json").read_text())
    began, ended = (datetime.datetime.fromisoformat(result["run"][name].replace("Z", "+00:00")) for name in ("started", "finished"))
    pairs.append([(ended - began).total_seconds(), LIMIT])
measured = sum(row["status"] == "ok" for row in result["rows"])
json.dump({"pairs": pairs, "unit": "s", "note": f"{measured} of {len(result['rows'])} rows measured in {pairs[-1][0]:.0f} s"}, sys.stdout)
