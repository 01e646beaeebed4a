#!/usr/bin/env python3
# ratio: sums of a step of split:2 against their prediction, the larger over the smaller
# target: <= 1.1
# pairs: 6
from support import ways

ways.claim_predicted("split:2", "sums_s", "sums_predicted_s", "--network", "mlp:i512w1024l3", "--batch", 256, "--max-time", 3)
