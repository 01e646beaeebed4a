#!/usr/bin/env python3
# ratio: images per second of stale:1 over those of sync, two ranks
# target: >= 1
# pairs: 6
import json

from support import ways

NETWORK = ("--network", "resnet18:w16s32c10", "--batch", 32)
pairs = []
for number in range(ways.PAIRS):
    rates = {}
    for way in (("stale:1", "sync"), ("sync", "stale:1"))[number % 2]:
        rates[way] = ways.row(way, *NETWORK)["rates"]["images_per_s"]
    pairs.append([rates["stale:1"], rates["sync"]])
print(json.dumps({"pairs": pairs, "unit": "images/s", "note": "resnet18:w16s32c10, 32 images a rank and step"}))
