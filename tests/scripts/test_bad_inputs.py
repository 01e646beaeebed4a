#!/usr/bin/env python3
"""A sample of bad values of flags and files: exit codes, messages and inputs as documented."""
import unittest

import bad_inputs
from run_helper import main


class BadInputs(unittest.TestCase):
    def test_a_sample(self):
        count, faults = bad_inputs.judge_all(count=100)
        self.assertEqual(count, 200)
        self.assertEqual(faults, [])


if __name__ == "__main__":
    main()
