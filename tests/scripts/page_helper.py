"""The common part of the tests of scripts that put a measured table into a page."""
from run_helper import SOURCE


class PageTests:
    """For use beside RunTest. `script`: its name; `page`: that in docs/results; make(page, code): runs it on a page
    without measuring."""

    @classmethod
    def marks(cls):
        return [f"<!-- scripts/{cls.script}: {mark} -->\n" for mark in ("begin", "end")]

    def made_twice(self):
        """The text between the marks of a page, after the first time and after the table was replaced."""
        begin, end = self.marks()
        page = self.folder / "page.md"
        page.write_text(f"before\n{begin}old\n{end}after\n")
        for _ in range(2):
            self.make(page)
            text = page.read_text()
            self.assertTrue(text.startswith(f"before\n{begin}## "))
            self.assertTrue(text.endswith(f"\n{end}after\n"))
            self.assertNotIn("old", text)
            yield text

    def test_a_page_without_marks_is_left_alone(self):
        page = self.folder / "page.md"
        page.write_text("text\n")
        self.assertIn("lacks the marks", self.make(page, code=1).stderr)
        self.assertEqual(page.read_text(), "text\n")

    def test_the_page_of_results_has_the_marks(self):
        text = (SOURCE / "docs" / "results" / self.page).read_text()
        self.assertEqual([text.count(mark) for mark in self.marks()], [1, 1])
