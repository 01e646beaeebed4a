#!/usr/bin/env python3
# ratio: PyTorch's time of the 53 convolutions of ResNet-50, batch 64, in three directions, {precision} on a GPU over ours
# target: >= 1.05
# pairs: 10
# group: gpu
# order: {order}
# each: bf16 precision=bf16 order=21
# each: fp16 precision=fp16 order=4
# each: fp32 precision=fp32 order=32
# each: tf32 precision=tf32 order=22
from support import gpu

gpu.convolutions(gpu.each()["precision"])
