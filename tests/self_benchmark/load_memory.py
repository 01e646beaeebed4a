#!/usr/bin/env python3
# ratio: greatest resident memory of the commands that read 11,343 rows of 199 nodes, of which load_seconds has the times, over 300 MB
# target: <= 1
# pairs: 1
# statistic: max
# group: fleet
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import load  # noqa: E402

load.claim(300e6, "B", 1)
