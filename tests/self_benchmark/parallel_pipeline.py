#!/usr/bin/env python3
# ratio: passes of a step of pipeline:2 against their prediction, the larger over the smaller
# target: <= 1.1
# pairs: 6
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import ways  # noqa: E402

ways.claim_predicted("pipeline:2", "pipeline_s", "pipeline_predicted_s", "--network", "resnet18:w16s32c10", "--batch", 8, "--accumulate", 8)
