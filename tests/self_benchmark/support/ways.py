"""Trainings on two ranks of one thread each, in different ways to be parallel."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("ASSAY_BUILD_DIR", pathlib.Path(__file__).resolve().parents[3] / "build"))
PAIRS = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 6
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def row(way, *words):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "row.json"
        command = ["mpirun", "--bind-to", "core", "-n", "2", BUILD / "bin" / "assay-train", "--threads", "1", "--parallel", way,
                   "--allocator", "system", "--out", out, *words]
        done = subprocess.run(list(map(str, command)), env={**os.environ, **ROOT}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not out.exists():
            raise RuntimeError(f"{way}: {done.stdout[-2000:]}")
        (made,) = json.loads(out.read_text())["rows"]
    if made["status"] != "ok":
        raise RuntimeError(f"{way}: {made['status']}: {made['reason']}")
    return made


def metric(of, name):
    return of["metrics"][name]["value"]


def claim_predicted(way, measured, predicted, *words):
    """Pairs of the larger over the smaller of a measured and its predicted time."""
    pairs, notes = [], []
    for _ in range(PAIRS):
        of = row(way, *words)
        found, said = metric(of, measured), metric(of, predicted)
        pairs.append([max(found, said), min(found, said)])
        notes.append(f"{1e3 * found:.3g} of {1e3 * said:.3g}")
    print(json.dumps({"pairs": pairs, "unit": "s", "note": f"{way}: {measured}, ms of predicted ms: {', '.join(notes)}"}))
