#!/usr/bin/env python3
# ratio: series with 1 % noise in which a step of 5 % is found in its week over all series
# target: >= 0.95
# pairs: 4000
# statistic: max
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import analytics  # noqa: E402
import history  # noqa: E402

analytics.tell(pairs=[history.alarms(0.05)], unit="series", note="asked and confirmed by 15 + 15 launches")
