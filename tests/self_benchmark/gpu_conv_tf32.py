#!/usr/bin/env python3
# ratio: PyTorch's time of the 53 convolutions of ResNet-50, batch 64, in three directions, tf32 on a GPU over ours
# target: >= 1.05
# pairs: 10
# group: gpu
# order: 22
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import gpu  # noqa: E402

gpu.convolutions("tf32")
