#!/usr/bin/env python3
# full: a training for each network, precision and number of ranks
"""Networks for segmentation learn in each precision, on one and on two ranks."""
from run_helper import main
from test_segmentation import TRAININGS, Segmentation


class Full(Segmentation):
    def test_networks_learn_to_a_target(self):
        for network in TRAININGS:
            for ranks in (1, 2):
                self.learns(network, ["fp32", "bf16", "fp16"], ranks)


del Segmentation  # its tests run in its own script

if __name__ == "__main__":
    main(verbosity=2)
