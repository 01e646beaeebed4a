#!/usr/bin/env python3
# ratio: the fp16 convolution of a GPU by its samples and the duration of its kernels by CUPTI, the longer over the shorter
# target: <= 1.03
# pairs: 10
# group: gpu
# order: 2
from support import gpu

times = []
for _ in range(gpu.pairs_asked(10)):
    row = gpu.row("assay-conv", *gpu.CONVOLUTION)
    if not row["executed"].get("kernels_s"):
        gpu.tell(skip="CUPTI records no kernels here")
    times.append((gpu.median(row), row["executed"]["kernels_s"]))
pairs = [[max(pair), min(pair)] for pair in times]  # a sample that is too short is as wrong
gpu.tell(pairs=pairs, unit="s", note=f"{1e6 * times[-1][0]:.1f} us, by CUPTI {1e6 * times[-1][1]:.1f} us")
