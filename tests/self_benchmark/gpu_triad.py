#!/usr/bin/env python3
# ratio: PyTorch's time of the triad of arrays of 1 GiB on a GPU over ours
# target: >= 1.0
# pairs: 10
# group: gpu
# order: 13
from support import gpu

gpu.kernels("triad", f"n{gpu.COPY}", lambda: gpu.copy_rate("triad")[1])
