#!/usr/bin/env python3
# ratio: memory of a step of training over PyTorch's, above that after loading: P1B1 (a tenth as wide), P1B2, deeplab; the worst
# target: <= 1.05
# pairs: 3
# statistic: max
"""Both sides: the growth of the process's peak resident memory (VmHWM) from after the libraries are loaded until a step is done,
before anything is verified (ours: peak_memory_bytes of a row, docs/training.md)."""
import json
import os
import pathlib
import subprocess
import tempfile

SOURCE = pathlib.Path(os.environ.get("ASSAY_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BIN = pathlib.Path(os.environ.get("ASSAY_BUILD_DIR", SOURCE / "build")) / "bin"
CASES = (("candle-p1b1:i60483w200n60", 100, "adam"), ("candle-p1b2:i28204", 60, "rmsprop"), ("deeplab:h96w144", 1, "adam"))


def peaks(network, batch, optimizer):
    common = ["--network", network, "--batch", str(batch), "--optimizer", optimizer, "--threads", "2"]
    peer = subprocess.run([SOURCE / "scripts/peers/pytorch_network", *common], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if peer.returncode == 3:
        raise SystemExit(print(json.dumps({"skip": "PyTorch is not installed (scripts/bootstrap --with-peers brings it)"})))
    peer.check_returncode()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "row.json"
        subprocess.run([BIN / "assay-train", *common, "--rate", "1e-6", "--steps", "1", "--max-time", "0.1", "--out", file], check=True,
                       stdout=subprocess.DEVNULL)
        row = json.loads(file.read_text())["rows"][0]
    return row["metrics"]["peak_memory_bytes"]["value"], json.loads(peer.stdout.splitlines()[0])["peak_bytes"]


found = [peaks(*case) for case in CASES]
print(json.dumps({"pairs": found, "unit": "bytes",
                  "note": "; ".join(f"{case[0]} {ours / 1e6:.0f} MB of {theirs / 1e6:.0f}" for case, (ours, theirs) in zip(CASES, found))}))
