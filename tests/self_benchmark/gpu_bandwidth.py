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
            kind = sums.setdefault(f"{layer['operation']} {layer['direction']}", [0, 0, 0])
            kind[0] += layer["runs"] * layer["bytes"] / rate
            kind[1] += layer["runs"] * gpu.read_again(layer, width) / rate
            kind[2] += layer["runs"] * layer["seconds"]
    pairs += [[once + again, seconds] for once, again, seconds in sums.values()]
    for kind, (once, again, seconds) in sums.items():
        of_once = f" ({100 * once / seconds:.0f} % with each input read once)" if again else ""
        notes.append(f"{precision} {kind} {100 * (once + again) / seconds:.0f} %{of_once}")
gpu.tell(pairs=pairs, unit="s", note=f"{', '.join(notes)} of {rate / 1e9:.0f} GB/s")
