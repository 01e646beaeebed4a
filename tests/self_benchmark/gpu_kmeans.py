#!/usr/bin/env python3
# ratio: PyTorch's time of 10 iterations of K-means, 262144 x 250, 3 clusters, fp64 on a GPU over ours
# target: >= 5
# pairs: 10
# group: gpu
# order: 16
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import gpu  # noqa: E402

gpu.kernels("kmeans", gpu.TABLE + "k3i10", lambda: gpu.row("assay-kmeans", "--backend", "cuda", "--problem", gpu.TABLE, "--clusters", 3))
