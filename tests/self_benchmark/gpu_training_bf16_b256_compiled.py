#!/usr/bin/env python3
# ratio: the step of PyTorch's compiled ResNet-50 training, batch 256, bf16 on a GPU over ours
# target: >= 1.0
# pairs: 10
# group: gpu
# order: 30
from support import gpu

gpu.networks("training", "bf16", 256, "--compile")
