#!/usr/bin/env python3
# ratio: PyTorch's time of the principal components of 262144 x 250, fp64 on a GPU over ours
# target: >= 1.5
# pairs: 10
# group: gpu
# order: 15
from support import gpu

gpu.kernels("pca", gpu.TABLE, lambda: gpu.row("assay-pca", "--backend", "cuda", "--problem", gpu.TABLE))
