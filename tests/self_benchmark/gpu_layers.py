#!/usr/bin/env python3
# ratio: the step of ResNet-50, batch 64, fp16 on a GPU (inference, training) and the sum of the times of its layers, the longer over the shorter
# target: <= 1.1
# pairs: 2
# statistic: max
# group: gpu
# order: 7
from support import gpu

pairs, notes = [], []
for direction in ("inference", "training"):
    row = gpu.network(direction, "fp16", 64)
    both = row["time_s"]["median"], sum(layer["runs"] * layer["seconds"] for layer in row["layers"])
    pairs.append([max(both), min(both)])
    notes.append(f"{direction} {1e3 * both[0]:.2f} ms, its layers {1e3 * both[1]:.2f} ms")
gpu.tell(pairs=pairs, unit="s", note="; ".join(notes))
