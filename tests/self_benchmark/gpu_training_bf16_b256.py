#!/usr/bin/env python3
# ratio: PyTorch's step of ResNet-50 training, batch 256, bf16 on a GPU over ours
# target: >= 1.15
# pairs: 10
# group: gpu
# order: 24
from support import gpu

gpu.networks("training", "bf16", 256)
