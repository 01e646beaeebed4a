#!/usr/bin/env python3
# ratio: PyTorch's time of the triad of arrays of 1 GiB on a GPU over ours
# target: >= 1.0
# pairs: 10
# group: gpu
# order: 13
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import gpu  # noqa: E402

gpu.kernels("triad", f"n{gpu.COPY}", lambda: gpu.copy_rate("triad")[1])
