#!/usr/bin/env python3
# ratio: the bandwidth of the hinge loss with its gradient, 262144 x 250, fp64 and fp32 on a GPU over that of the copy
# target: >= 0.7
# pairs: 2
# statistic: max
# group: gpu
# order: 14
from support import gpu

rate, _ = gpu.copy_rate()
pairs = []
for precision in ("fp64", "fp32"):
    row = gpu.row("assay-linalg", "--backend", "cuda", "--problem", f"hinge:{gpu.TABLE}", "--precision", precision)
    pairs.append([row["problem"]["bytes"] / rate, gpu.median(row)])
gpu.tell(pairs=pairs, unit="s", note=f"fp64 {pairs[0][0] / pairs[0][1]:.2f}, fp32 {pairs[1][0] / pairs[1][1]:.2f} of {rate / 1e9:.0f} GB/s")
