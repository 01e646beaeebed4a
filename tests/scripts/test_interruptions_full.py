#!/usr/bin/env python3
# full: every fault of signals, journals, disks and checkpoints
"""Every fault of signals, journals, disks and checkpoints: nothing finished is lost, nothing damaged becomes a result."""
import unittest

import interruptions
from run_helper import main


class Interruptions(unittest.TestCase):
    def test_all(self):
        count, faults = interruptions.judge_all()
        self.assertGreaterEqual(count, 660)
        self.assertEqual(faults, [], f"{len(faults)} of {count}")


if __name__ == "__main__":
    main()
