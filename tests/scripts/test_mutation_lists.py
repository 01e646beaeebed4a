#!/usr/bin/env python3
"""Each mutation of tests/mutations/lists fits the sources: only a sample of them is built by the default tests."""
import pathlib
import re
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

    def test_replacements_use_names_that_exist(self):
        """A function that was renamed in the sources is often renamed in `find` alone, and the mutations then do not compile."""
        known = {"MUTATED", "ASSAY_MUTATED"}
        for room in ("core", "kernels", "comm", "datasets", "models", "analysis", "runner", "cli"):
            for path in (SOURCE / room).rglob("*.[ch]pp"):
                known.update(re.findall(r"\w+", path.read_text()))
        for mutation in mutation_lists.read_all():
            for edit in mutation.edits:
                code = re.sub(r'"[^"]*"|std::[a-z_:]+', "", edit.replace)
                names = set(re.findall(r"(?<!\w)(?!mutant)[A-Za-z_]\w*", code))
                self.assertEqual(names - known, set(), f"[{mutation.name}] of {mutation.group}.txt")


if __name__ == "__main__":
    unittest.main()
