#!/usr/bin/env python3
# ratio: PyTorch's step of captured ResNet-50 training, batch 64, fp16, on a GPU over ours
# target: >= 1.0
# pairs: 6
# group: gpu
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import gpu  # noqa: E402

gpu.beside_pytorch("train", "fp16", 64, 6, "--cuda-graph")
