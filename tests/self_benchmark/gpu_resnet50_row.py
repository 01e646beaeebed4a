#!/usr/bin/env python3
# ratio: the time until assay-resnet50 has the row of training, batch 256, bf16 on a GPU over 60 s
# target: <= 1
# pairs: 1
# statistic: max
# group: gpu
# order: 11
import time

from support import gpu

gpu.row("assay-conv", *gpu.CONVOLUTION)  # tells the card
begin = time.monotonic()
row = gpu.network("training", "bf16", 256)
gpu.bound(time.monotonic() - begin, 60, f"set-up and verification {sum(row['setup_s'].values()):.1f} s")
