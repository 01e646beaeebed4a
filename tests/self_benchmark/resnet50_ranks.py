#!/usr/bin/env python3
# ratio: assay-resnet50's time of a step by 1 rank of 2 threads over 2 ranks of 1 thread, global batch 16, fp32
# target: >= 0.9
# pairs: 6
from support import analytics

PROBLEM = analytics.asked("--problem", "imagenet")


def step(*words, launcher=()):
    return analytics.seconds_of("assay-resnet50", *words, "--steps", 5, launcher=launcher, problem=PROBLEM)


def one():
    return step("--batch", 16, "--threads", 2)


def two():
    return step("--batch", 8, "--threads", 1, launcher=["mpirun", "-n", "2"])


pairs = []
for pair in range(analytics.pairs_asked(6)):
    first, second = (one(), two()) if pair % 2 == 0 else tuple(reversed((two(), one())))
    pairs.append([first, second])
analytics.tell(pairs=pairs, unit="s", note="5 steps a side, a new job for each")
