#!/usr/bin/env python3
# ratio: time of a run of a burn-in with the check of all its outputs over that of a run without (products and convolutions)
# target: <= 1.05
# pairs: 20
import os

from support import analytics

CASES = ["assay-gemm --problem m768n768k768 --precision fp32 --backend onednn",
         "assay-gemm --problem m768n768k768 --precision fp64 --backend blas",
         "assay-gemm --problem m768n768k8192 --precision bf16 --backend onednn",
         "assay-conv --problem mb2ic256ih28oc256oh28kh3ph1 --direction forward --precision fp32 --backend native --algorithm auto"]
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # `assay burn` binds each process to its processors
pairs = []
for pair in range(analytics.pairs_asked(20)):
    program, *words = CASES[pair % len(CASES)].split()
    result, _ = analytics.result_of(program, *words, "--threads", "1", "--max-time", "1", "--burn", "2")
    row = result["rows"][0]
    burn = row["burn"]
    # Every second window has pauses, after which a processor is slower.
    full = burn["windows"][::2]
    run = sum(window["seconds"] for window in full) / sum(window["runs"] for window in full)
    pairs.append([run + burn["check_s"] / burn["runs"], row["time_s"]["median"]])
analytics.tell(pairs=pairs, unit="s", note=f"{len(CASES)} cases in turn, one thread on one processor")
