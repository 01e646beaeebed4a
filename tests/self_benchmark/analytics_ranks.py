#!/usr/bin/env python3
# ratio: assay-svm on 1 rank over 2 ranks, 1 thread each
# target: >= 1.7
# pairs: 6
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import shutil  # noqa: E402

import analytics  # noqa: E402

if shutil.which("mpirun") is None:
    analytics.tell(skip="there is no mpirun in PATH")


def ranks(count):
    return lambda: analytics.seconds_of("assay-svm", "--threads", 1, "--max-time", 2, launcher=["mpirun", "-n", count])


analytics.tell(pairs=analytics.alternate(analytics.pairs_asked(6), ranks(1), ranks(2)), unit="s", note=f"{analytics.SIZE}, fp64")
