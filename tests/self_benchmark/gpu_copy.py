#!/usr/bin/env python3
# ratio: PyTorch's time of the copy of arrays of 1 GiB on a GPU over ours
# target: >= 1.0
# pairs: 10
# group: gpu
# order: 12
from support import gpu

gpu.kernels("copy", f"n{gpu.COPY}", lambda: gpu.copy_rate("copy")[1])
