#!/usr/bin/env python3
# ratio: full build, tests included, in an empty folder over 4 minutes
# target: <= 1
# pairs: 1
# statistic: max
# group: build
from support.fresh_build import measure

measure()
