#!/usr/bin/env python3
# ratio: opening the page of 1,000 nodes with 200 rows each, and of their acceptance, in headless Chromium, until all is drawn that is in view, over 3 s
# target: <= 1
# pairs: 6
# group: fleet
from support import fleet, page

page.need_browser()
with fleet.Nodes() as nodes:
    nodes.accept()
    nodes.report()
    times = page.openings(nodes.work / "report.html", fleet.PAIRS)
fleet.claim(times, 3.0, "s", f"slowest of {len(times)} openings {max(times):.2f} s; {nodes.note}")
