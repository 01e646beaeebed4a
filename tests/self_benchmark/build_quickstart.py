#!/usr/bin/env python3
# ratio: build of the programs, as scripts/quickstart makes it, in an empty folder over 4 minutes
# target: <= 1
# pairs: 1
# statistic: max
# group: build
from support.fresh_build import measure

measure("--target", "assay_programs")
