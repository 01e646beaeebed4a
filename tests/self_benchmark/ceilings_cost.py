#!/usr/bin/env python3
# ratio: time of the brackets of ceilings over that of the whole run, suites/smoke.json
# target: <= 0.1
# pairs: 3
# statistic: max
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PAIRS = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 3
program = os.path.join(os.environ["ASSAY_BUILD_DIR"], "bin", "assay")
pairs = []
for _ in range(PAIRS):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "smoke"
        done = subprocess.run([program, "run", "smoke", "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"assay run smoke ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        run = json.loads((out / "result.json").read_text())["run"]
    began, ended = (datetime.datetime.fromisoformat(run[name].replace("Z", "+00:00")) for name in ("started", "finished"))
    if any(bracket["reason"] for bracket in run["bracket"]):
        sys.exit(f"a bracket failed: {run['bracket'][0]['reason']}")
    pairs.append([sum(bracket["seconds"] for bracket in run["bracket"]), (ended - began).total_seconds()])
json.dump({"pairs": pairs, "unit": "s", "note": f"{len(run['bracket'])} brackets in {pairs[-1][1]:.0f} s"}, sys.stdout)
