#!/usr/bin/env python3
# ratio: the bandwidth of norm, pool, sum and update in ResNet-50 training, batch 64, fp16 and fp32 on a GPU, by the bytes that must move, over the copy's
# target: >= 0.8
# pairs: 2
# statistic: max
# group: gpu
# order: 8
from support import gpu

rate, _ = gpu.copy_rate()
pairs, notes = [], []
for precision, width in (("fp16", 2), ("fp32", 4)):
    sums = {}
    for layer in gpu.network("training", precision, 64)["layers"]:
        if layer["operation"] in ("norm", "pool", "sum", "update"):
            kind = sums.setdefault(f"{layer['operation']} {layer['direction']}", [0, 0])
            kind[0] += layer["runs"] * (layer["bytes"] + gpu.read_again(layer, width)) / rate
            kind[1] += layer["runs"] * layer["seconds"]
    pairs += sums.values()
    notes += [f"{precision} {kind} {100 * least / seconds:.0f} %" for kind, (least, seconds) in sums.items()]
gpu.tell(pairs=pairs, unit="s", note=f"{', '.join(notes)} of {rate / 1e9:.0f} GB/s")
