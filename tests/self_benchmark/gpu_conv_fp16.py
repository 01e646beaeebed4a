#!/usr/bin/env python3
# ratio: PyTorch's time of the 53 convolutions of ResNet-50, batch 64, in three directions, fp16 on a GPU over ours
# target: >= 1.05
# pairs: 10
# group: gpu
# order: 4
from support import gpu

gpu.convolutions("fp16")
