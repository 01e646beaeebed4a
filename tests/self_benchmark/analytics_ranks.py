#!/usr/bin/env python3
# ratio: assay-svm on 1 rank over 2 ranks, 1 thread each
# target: >= 1.7
# pairs: 6
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import analytics  # noqa: E402

if shutil.which("mpirun") is None:
    analytics.tell(skip="there is no mpirun in PATH")
# The machine's own limits are for those who share it; this program knows how many it starts.
for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
    os.environ.setdefault(name, "1")


def ranks(count):
    return lambda: analytics.seconds_of("assay-svm", "--threads", 1, "--max-time", 2, launcher=["mpirun", "-n", count])


analytics.tell(pairs=analytics.alternate(analytics.pairs_asked(6), ranks(1), ranks(2)), unit="s", note=f"{analytics.SIZE}, fp64")
