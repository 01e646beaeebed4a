"""The common part of the claims about `assay report`: a result file of 10,000 rows with data for most parts, and a run
of the command."""

import json
import os
import pathlib
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "tests" / "support"))
import make_report_inputs  # noqa: E402
import make_results  # noqa: E402

PAIRS = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 0


def large_result(folder, rows):
    document = make_results.document(rows=rows, launches=1, precisions=("fp32", "bf16"))
    make_report_inputs.ceilings(document)
    make_report_inputs.baselines(document)
    file = pathlib.Path(folder) / "result.json"
    file.write_text(json.dumps(document))
    return file


def report(file, out):
    """Runs it; (seconds, greatest resident bytes)."""
    program = os.path.join(os.environ["ASSAY_BUILD_DIR"], "bin", "assay")
    start = time.perf_counter()
    process = subprocess.Popen([program, "report", str(file), "--out", str(out)], stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"assay report ended with {process.returncode}: {said.strip()}")
    if "no plots" in said:
        print(json.dumps({"skip": "plotly.min.js was not found by CMake: the page has no plots"}))
        sys.exit(0)
    return seconds, usage.ru_maxrss * 1024


def claim(pairs, unit, note):
    json.dump({"pairs": pairs, "unit": unit, "note": note}, sys.stdout)
