#!/usr/bin/env python3
# ratio: {step} ResNet-50 training, batch {batch}, {precision} on a GPU over ours
# target: >= {target}
# pairs: 10
# group: gpu
# order: {order}
# each: bf16_b64 precision=bf16 batch=64 target=1.15 order=19 step="PyTorch's step of"
# each: fp16_b64 precision=fp16 batch=64 target=1.15 order=5 step="PyTorch's step of"
# each: tf32_b64 precision=tf32 batch=64 target=1.15 order=20 step="PyTorch's step of"
# each: bf16_b256 precision=bf16 batch=256 target=1.15 order=24 step="PyTorch's step of"
# each: fp16_b256 precision=fp16 batch=256 target=1.15 order=23 step="PyTorch's step of"
# each: tf32_b256 precision=tf32 batch=256 target=1.15 order=25 step="PyTorch's step of"
# each: bf16_b64_compiled precision=bf16 batch=64 target=1.0 order=26 step="the step of PyTorch's compiled" words=--compile
# each: fp16_b64_compiled precision=fp16 batch=64 target=1.0 order=17 step="the step of PyTorch's compiled" words=--compile
# each: tf32_b64_compiled precision=tf32 batch=64 target=1.0 order=27 step="the step of PyTorch's compiled" words=--compile
# each: bf16_b256_compiled precision=bf16 batch=256 target=1.0 order=30 step="the step of PyTorch's compiled" words=--compile
# each: fp16_b256_compiled precision=fp16 batch=256 target=1.0 order=29 step="the step of PyTorch's compiled" words=--compile
# each: tf32_b256_compiled precision=tf32 batch=256 target=1.0 order=31 step="the step of PyTorch's compiled" words=--compile
from support import gpu

each = gpu.each()
gpu.networks("training", each["precision"], int(each["batch"]), *each.get("words", "").split())
