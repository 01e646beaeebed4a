#!/usr/bin/env python3
# ratio: the step of PyTorch's compiled ResNet-50 inference, batch 64, fp16 on a GPU over ours
# target: >= 1.1
# pairs: 10
# group: gpu
# order: 18
from support import gpu

gpu.networks("inference", "fp16", 64, "--compile")
