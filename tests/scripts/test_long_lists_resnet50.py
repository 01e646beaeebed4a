#!/usr/bin/env python3
# full: a step of the whole network, verified
"""The list of ResNet-50 as it is used: its row stands beside the published ones."""
from run_helper import RunTest, main
from test_resnet50 import RESNET, Resnet


class WholeNetwork(RunTest):
    expect_published = Resnet.expect_published

    def test_a_step(self):
        done = self.command(RESNET, "--batch", 1, "--steps", 1, "--threads", 2, "--backend", "onednn", "--out", self.folder / "row.json", code=0)
        self.expect_published(done, "d50w64s224c1000")


del Resnet  # its own tests are test_resnet50.py's
if __name__ == "__main__":
    main()
