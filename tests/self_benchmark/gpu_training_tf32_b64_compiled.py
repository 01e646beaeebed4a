#!/usr/bin/env python3
# ratio: the step of PyTorch's compiled ResNet-50 training, batch 64, tf32 on a GPU over ours
# target: >= 1.0
# pairs: 10
# group: gpu
# order: 27
from support import gpu

gpu.networks("training", "tf32", 64, "--compile")
