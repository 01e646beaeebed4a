#!/usr/bin/env python3
# ratio: PyTorch's time of 10 iterations of K-means, 262144 x 250, 3 clusters, fp64 on a GPU over ours
# target: >= 5
# pairs: 10
# group: gpu
# order: 16
from support import gpu

gpu.kernels("kmeans", gpu.TABLE + "k3i10", lambda: gpu.row("assay-kmeans", "--backend", "cuda", "--problem", gpu.TABLE, "--clusters", 3))
