"""Rows of a GPU for ratios of the group gpu: of programs, each started anew."""
import json
import pathlib
import subprocess
import sys
import tempfile

from analytics import BIN, SOURCE, pairs_asked, tell  # noqa: F401

# The convolution of which a real GPU first showed that its rows contained the launch.
CONVOLUTION = ("--problem", "mb16ic64ih112oc128oh112kh3ph1", "--precision", "fp16", "--layout", "nhwc", "--algorithm", "auto",
               "--backend", "cuda")


def row(program, *words):
    """The only row of a program on the GPU; ends the ratio where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "row.json"
        done = subprocess.run([BIN / program, "--device", "gpu", *words, "--out", out], text=True, capture_output=True, check=False)
        if not out.exists():
            sys.exit(f"{program} {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
        found = json.loads(out.read_text())["rows"][0]
    if found["status"] == "unsupported":
        tell(skip=found["reason"])
    if found["status"] != "ok":
        sys.exit(f"{found['id']} is {found['status']}: {found['reason']}")
    return found


def median(of):
    """Of a row that contains the host's time, no ratio says anything of the device."""
    if "host_included" in of["time_s"]:
        sys.exit(f"{of['id']} contains the host's time: {of['time_s']['host_included']}")
    return of["time_s"]["median"]


def beside_pytorch(mode, precision, batch, pairs, *words):
    """PyTorch's median step over ours, of ResNet-50, each in a process of its own."""
    times = []
    ours = ("--direction", "inference") if mode == "inference" else ("--steps", "20")
    for _ in range(pairs_asked(pairs)):
        mine = row("assay-resnet50", "--backend", "auto", "--batch", str(batch), "--precision", precision, *ours)
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "peer.json"
            done = subprocess.run([SOURCE / "scripts/peers/pytorch_resnet50", "--device", "cuda", "--mode", mode, "--precision", precision,
                                   "--batch", str(batch), *words, "--out", out], text=True, capture_output=True, check=False)
            if done.returncode in (2, 3):  # not installed, or not what this machine can do
                tell(skip=done.stderr.strip()[-300:])
            if done.returncode != 0:
                sys.exit(f"pytorch_resnet50 ended with {done.returncode}: {done.stderr.strip()[-500:]}")
            theirs = json.loads(out.read_text())["rows"][0]
        # A step of a training reads its loss: it contains the host's time on both sides.
        times.append([theirs["time_s"]["median"], mine["time_s"]["median"]])
    tell(pairs=times, unit="s", note=f"{batch / times[-1][0]:.0f} images/s by PyTorch, {batch / times[-1][1]:.0f} by Assay")
