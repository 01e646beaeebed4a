#!/usr/bin/env python3
# full: every bad value of every flag and file
"""Every bad value of every flag and file: exit codes, messages and inputs as documented."""
import unittest

import bad_inputs
from run_helper import main


class BadInputs(unittest.TestCase):
    def test_all(self):
        count, faults = bad_inputs.judge_all()
        self.assertGreater(count, 30000)
        self.assertEqual(faults, [], f"{len(faults)} of {count}")


if __name__ == "__main__":
    main()
