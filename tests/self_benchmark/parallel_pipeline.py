#!/usr/bin/env python3
# ratio: passes of a step of pipeline:2 against their prediction, the larger over the smaller
# target: <= 1.1
# pairs: 6
from support import ways

ways.claim_predicted("pipeline:2", "pipeline_s", "pipeline_predicted_s", "--network", "resnet18:w16s32c10", "--batch", 8, "--accumulate", 8)
