#!/usr/bin/env python3
# ratio: the fp16 convolution of a GPU in each of 20 launches, its median over the fastest launch's
# target: <= 1.02
# pairs: 20
# statistic: max
# group: gpu
# order: 1
from support import gpu

times = [gpu.median(gpu.row("assay-conv", *gpu.CONVOLUTION)) for _ in range(gpu.pairs_asked(20))]
gpu.tell(pairs=[[seconds, min(times)] for seconds in times], unit="s", note=f"{1e6 * min(times):.1f} to {1e6 * max(times):.1f} us")
