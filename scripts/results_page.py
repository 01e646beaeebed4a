"""What the scripts share that put a measured table into a page: the marks between which it goes, and the conditions in words."""
import sys


def conditions(result):
    """Machine, date, commit and load of a result file."""
    environment = result["environments"][0]
    hardware, load = environment["hardware"], environment["volatile"].get("load")
    kind = "virtual machine, " if hardware["virtual_machine"] else ""
    commit = environment["software"]["assay"].get("commit")
    return (f"{hardware['processor']} ({kind}{hardware['cores']} cores), {result['run']['started'][:10]}"
            + (f", commit {commit[:10]}" if commit else "") + (f", load {load[0]:.1f} before it began" if load else ""))


class Page:
    """A page of Markdown with the two marks of one script."""

    def __init__(self, file, script):
        self.file = file
        self.begin, self.end = f"<!-- scripts/{script}: begin -->\n", f"<!-- scripts/{script}: end -->\n"
        text = file.read_text()
        if text.count(self.begin) != 1 or text.count(self.end) != 1:
            sys.exit(f"{script}: {file} lacks the marks {self.begin.strip()} and {self.end.strip()}. Put them where the table is to be.")

    def put(self, sections):
        """`sections`: of each its title and its text."""
        before, rest = self.file.read_text().split(self.begin)
        after = rest.split(self.end)[1]
        parts = "".join(f"## {title}\n\n{text}\n" for title, text in sections)
        self.file.write_text(f"{before}{self.begin}{parts}{self.end}{after}")
