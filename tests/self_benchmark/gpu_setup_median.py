#!/usr/bin/env python3
# ratio: set-up and verification of the median row of coral2-gpu over 2 s
# target: <= 1
# pairs: 6
# group: gpu
# order: 9
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import gpu  # noqa: E402

gpu.set_up(2)
