#!/usr/bin/env python3
# ratio: PyTorch's step of ResNet-50 training, batch 64, fp32 on a GPU over ours
# target: >= 1.15
# pairs: 6
# group: gpu
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import gpu  # noqa: E402

gpu.beside_pytorch("train", "fp32", 64, 6)
