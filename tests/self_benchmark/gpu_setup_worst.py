#!/usr/bin/env python3
# ratio: set-up and verification of the worst row of coral2-gpu over 10 s
# target: <= 1
# pairs: 1
# statistic: max
# group: gpu
# order: 10
from support import gpu

gpu.set_up(10, worst=True)
