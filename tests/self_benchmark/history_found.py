#!/usr/bin/env python3
# ratio: series with 1 % noise in which a step of 5 % is found in its week over all series
# target: >= 0.95
# pairs: 4000
# statistic: max
from support import analytics, history

analytics.tell(pairs=[history.alarms(0.05)], unit="series", note="asked and confirmed by 15 + 15 launches")
