#!/usr/bin/env python3
# ratio: the step of PyTorch's compiled ResNet-50 training, batch 64, bf16 on a GPU over ours
# target: >= 1.0
# pairs: 10
# group: gpu
# order: 26
from support import gpu

gpu.networks("training", "bf16", 64, "--compile")
