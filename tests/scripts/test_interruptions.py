#!/usr/bin/env python3
"""A sample of faults of signals, journals, disks and checkpoints: nothing finished is lost, nothing damaged becomes a result."""
import unittest

import interruptions
from run_helper import main


class Interruptions(unittest.TestCase):
    def test_a_sample(self):
        injected, faults = interruptions.judge_all(count=60)
        self.assertGreater(injected, 45)
        self.assertEqual(faults, [])


if __name__ == "__main__":
    main()
