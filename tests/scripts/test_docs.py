#!/usr/bin/env python3
"""The README stays a front door, and no link of the documentation leads nowhere."""
import re
import subprocess
import unittest

from run_helper import SOURCE

PAGES = [SOURCE / "README.md", SOURCE / "CHANGELOG.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").rglob("*.md"))]


def outside_of_code(text):
    return re.sub(r"(?ms)^```.*?^```$", "", text)


def anchor(heading):
    """The anchor of GitHub and GitLab: lower case, punctuation dropped, blanks to hyphens."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


class Docs(unittest.TestCase):
    def test_front_pages_are_short_enough_to_be_read(self):
        for page, most in (("README.md", 150), ("CHANGELOG.md", 120)):
            self.assertLessEqual(len((SOURCE / page).read_text().splitlines()), most, page)

    def test_lines_are_short_enough_to_be_read(self):
        for page in PAGES:
            if page.parent.name == "results":  # written by scripts
                continue
            prose = [line for line in outside_of_code(page.read_text()).splitlines() if not line.startswith(("|", "    "))]
            self.assertEqual([line for line in prose if len(line) > 120], [], page)

    def test_the_readme_names_its_two_commands(self):
        for command in ("scripts/quickstart", "scripts/test"):
            self.assertRegex((SOURCE / "README.md").read_text(), rf"(?m)^{command} ")

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", outside_of_code(page.read_text())):
                if target.startswith("http"):
                    continue
                path, _, place = target.partition("#")
                file = page.parent / path if path else page
                with self.subTest(page=page.relative_to(SOURCE), target=target):
                    self.assertTrue(file.exists())
                    if place:
                        headings = re.findall(r"(?m)^#+ (.*)$", outside_of_code(file.read_text()))
                        self.assertIn(place, [anchor(heading) for heading in headings])

    def test_named_sources_exist(self):
        for page in PAGES:
            for path in re.findall(r"`((?:analysis|ci|cmake|comm|core|kernels|results-schema|scripts|suites|support|tests)/[\w./-]+)`",
                                   page.read_text()):
                with self.subTest(page=page.relative_to(SOURCE), path=path):
                    self.assertTrue((SOURCE / path).exists())

    def test_the_index_names_every_page(self):
        for folder in (SOURCE / "docs", SOURCE / "docs" / "results"):
            index = (folder / "README.md").read_text()
            for page in folder.glob("*.md"):
                self.assertTrue(page.name == "README.md" or f"]({page.name})" in index, page)

    def test_each_claimed_ratio_states_its_target(self):
        listed = subprocess.run([SOURCE / "scripts" / "self-benchmark", "--list"], capture_output=True, text=True)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("gemm_blas", listed.stdout)


if __name__ == "__main__":
    unittest.main()
