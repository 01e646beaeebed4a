#!/usr/bin/env python3
# full
"""A link of four hosts (namespaces of this machine) that is shaped to half is named by a bisection, and no other."""
import unittest

from run_helper import RunTest, main
import links

REASON = links.why_not()


@unittest.skipIf(REASON, f"unsupported: {REASON}")
class Links(RunTest):
    def test_equal_links_are_not_blamed(self):
        row = links.row_of()
        self.assertEqual((row["status"], links.named(row)), ("ok", []), row)
        self.assertEqual(row["metrics"]["slow_links"]["value"], 0)
        self.assertEqual(row["verification"]["checked"], 4 * 3 * (1 << 18))
        link = row["rates"]["busbw"] / 20e6  # 1 MiB there and 1 MiB back in each of 3 permutations
        self.assertTrue(0.5 < link < 1.1, row["rates"])

    def test_the_link_of_a_host(self):
        self.assertEqual(links.named(links.row_of(links.NAMES[2])), [links.NAMES[2]])

    def test_the_path_between_two_hosts(self):
        row = links.row_of(links.NAMES[3], links.NAMES[1])
        self.assertEqual(links.named(row), [f"{links.NAMES[1]}+{links.NAMES[3]}"])
        self.assertEqual((row["metrics"]["slowest_rank"]["value"], row["metrics"]["slowest_partner"]["value"]), (1, 3))


if __name__ == "__main__":
    main()
