#!/usr/bin/env python3
# ratio: set-up and verification of the median row of coral2-gpu over 2 s
# target: <= 1
# pairs: 6
# group: gpu
# order: 9
from support import gpu

gpu.set_up(2)
