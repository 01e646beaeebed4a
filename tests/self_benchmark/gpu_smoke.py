#!/usr/bin/env python3
# ratio: the time of the suite smoke-gpu over 180 s
# target: <= 1
# pairs: 1
# statistic: max
# group: gpu
# order: 28
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import gpu  # noqa: E402

out = gpu.folder() / "smoke"
begin = time.monotonic()
gpu.run_suite("smoke-gpu" if gpu.SUITE == "coral2-gpu" else gpu.SUITE, out)
seconds = time.monotonic() - begin
gpu.bound(seconds, 180, gpu.states(gpu.ok_rows(out)))
