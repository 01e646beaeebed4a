#!/usr/bin/env python3
# ratio: greatest resident memory of the commands that read 11,343 rows of 199 nodes, of which load_seconds has the times, over 300 MB
# target: <= 1
# pairs: 1
# statistic: max
# group: fleet
from support import load

load.claim(300e6, "B", 1)
