#!/usr/bin/env python3
# ratio: set-up and verification of the worst row of coral2-gpu over 10 s
# target: <= 1
# pairs: 1
# statistic: max
# group: gpu
# order: 10
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import gpu  # noqa: E402

gpu.set_up(10, worst=True)
