#!/usr/bin/env python3
# ratio: the time of the suite smoke-gpu over 180 s
# target: <= 1
# pairs: 1
# statistic: max
# group: gpu
# order: 28
import time

from support import gpu

out = gpu.folder() / "smoke"
begin = time.monotonic()
gpu.run_suite("smoke-gpu" if gpu.SUITE == "coral2-gpu" else gpu.SUITE, out)
seconds = time.monotonic() - begin
rows = gpu.ok_rows(out)
gpu.refuse_wrong(rows)
gpu.bound(seconds, 180, gpu.states(rows))
