#!/usr/bin/env python3
# ratio: what a row costs by itself: a GPU's copy of 16 bytes, the smallest verified kernel, over its fp16 convolution
# target: <= 0.05
# pairs: 6
# group: gpu
# order: 3
from support import gpu

pairs = []
for _ in range(gpu.pairs_asked(6)):
    null = gpu.row("assay-stream", "--problem", "copy_n2", "--backend", "cuda")
    pairs.append([gpu.median(null), gpu.median(gpu.row("assay-conv", *gpu.CONVOLUTION))])
gpu.tell(pairs=pairs, unit="s",
         note=f"two marks without work {1e6 * null['time_s']['clock_s']:.2f} us, a copy of 16 bytes {1e6 * pairs[-1][0]:.2f} us")
