#!/usr/bin/env python3
# ratio: PyTorch's step of ResNet-50 inference, batch 64, fp16 on a GPU over ours
# target: >= 1.5
# pairs: 10
# group: gpu
# order: 6
from support import gpu

gpu.networks("inference", "fp16", 64)
