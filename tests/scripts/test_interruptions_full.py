#!/usr/bin/env python3
# full: every fault of signals, journals, disks and checkpoints
"""Every fault of signals, journals, disks and checkpoints: nothing finished is lost, nothing damaged becomes a result."""
import unittest

import interruptions
from run_helper import main


class Interruptions(unittest.TestCase):
    def test_all(self):
        injected, faults = interruptions.judge_all()
        self.assertGreater(injected, 600)
        self.assertEqual(faults, [], f"{len(faults)} of {injected}")


if __name__ == "__main__":
    main()
