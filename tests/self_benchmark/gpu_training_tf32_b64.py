#!/usr/bin/env python3
# ratio: PyTorch's step of ResNet-50 training, batch 64, tf32 on a GPU over ours
# target: >= 1.15
# pairs: 10
# group: gpu
# order: 20
from support import gpu

gpu.networks("training", "tf32", 64)
