#!/usr/bin/env python3
# ratio: weeks in which a suite of 20 rows with 1 % noise has an alarm, over 1 % of the weeks
# target: <= 1
# pairs: 4000
# statistic: max
from support import analytics, history

found, series = history.alarms(0)
# There is at least one series, since a ratio of 0 has no logarithm.
analytics.tell(pairs=[[1 - (1 - max(found, 1) / series) ** history.table.ROWS, 0.01]], unit="of the weeks", note=f"{found} of {series} series")
