#!/usr/bin/env python3
"""Each mutation of tests/mutations/lists fits the sources: only a sample of them is built by the default tests."""
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "mutations"))
import mutation_lists  # noqa: E402


class Lists(unittest.TestCase):
    def test_mutations_fit_the_sources(self):
        lists = (SOURCE / "tests" / "mutations" / "lists").glob("*.txt")
        files = {line[6:].strip() for each in lists for line in each.read_text().splitlines() if line.startswith("file: ")}
        self.assertGreater(len(files), 50)
        for file in sorted(files):
            self.assertEqual(mutation_lists.mutated(SOURCE, file)[1], {}, file)


if __name__ == "__main__":
    unittest.main()
