#!/usr/bin/env python3
# ratio: the time of moments, kmeans_assign and hinge_hessian, 262144 x 250, on a GPU by its copy and its product of matrices, over theirs
# target: >= 0.5
# pairs: 6
# statistic: max
# group: gpu
# order: 14
from support import gpu

rate, _ = gpu.copy_rate()
pairs, notes = [], []
for precision in ("fp64", "fp32"):
    peak = gpu.matmul_rate(precision)
    for kernel in ("moments", "kmeans_assign", "hinge_hessian"):
        row = gpu.row("assay-linalg", "--backend", "cuda", "--problem", f"{kernel}:{gpu.TABLE}{'k3' * (kernel == 'kmeans_assign')}",
                      "--precision", precision)
        pairs.append([max(row["problem"]["bytes"] / rate, row["problem"]["flops"] / peak), gpu.median(row)])
        notes.append(f"{precision} {kernel} {100 * pairs[-1][0] / pairs[-1][1]:.0f} %")
gpu.tell(pairs=pairs, unit="s", note=", ".join(notes))
