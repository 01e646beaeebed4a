"""The common part of the scripts that put a measured table into a page: options, the run of a suite, the marks between
which the table goes, the conditions in words."""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments(doc, out, page):
    """A parser of the options that every such script has; `out` and `page`: names in results/ and in docs/results/."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "results" / out)
    parser.add_argument("--table-only", action="store_true")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "results" / page)
    return parser


def finished(code):
    """Ends the script where a run failed as a whole. Rows that are wrong (3) or failed (7) stand in the table as such."""
    if code not in (0, 3, 7):
        sys.exit(code)


def run(given, suite, *flags):
    """Runs a suite into the folder of the options, or continues the run that is there, and returns its result file's content."""
    if not given.table_only:
        command = [given.programs / "assay", "run", suite, *flags, "--out", given.out]
        finished(subprocess.run([*command, *(["--resume"] if (given.out / "journal.jsonl").exists() else [])]).returncode)
    return json.loads((given.out / "result.json").read_text())


def markdown(given, command, result, *flags):
    """The output of `assay table` or another command about a result, for a page."""
    return subprocess.run([given.programs / "assay", command, result, *flags, "--format", "markdown"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def conditions(result):
    """Machine, date, commit and load of a result file."""
    environment = result["environments"][0]
    hardware, load = environment["hardware"], environment["volatile"].get("load")
    kind = "virtual machine, " if hardware["virtual_machine"] else ""
    commit = environment["software"]["assay"].get("commit")
    return (f"{hardware['processor']} ({kind}{hardware['cores']} cores), {result['run']['started'][:10]}"
            + (f", commit {commit[:10]}" if commit else "") + (f", load {load[0]:.1f} before it began" if load else ""))


def measure_ratios(names, out, pairs):
    """Measures the ratios of self-benchmark whose names match, into the file ratios.json of the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([ROOT / "scripts" / "self-benchmark", "--filter", names, "--out", out / "ratios.json",
                    *(["--pairs", str(pairs)] if pairs else [])])


def ratios(file):
    """A table of what self-benchmark has written."""
    lines = ["| ratio | median | 95 % interval | target | verdict | pairs |", "|---|---:|---:|---:|---|---:|"]
    for found in json.loads(file.read_text())["ratios"]:
        target = f"{found['relation']} {found['target']:g}"
        numbers = [f"{found['value']:.3g}", " .. ".join(f"{end:.3g}" for end in found["interval"]), target, found["verdict"],
                   found["n"]] if "value" in found else ["", "", target, f"{found['verdict']}: {found['reason']}", ""]
        lines.append("| " + " | ".join(map(str, [found["ratio"], *numbers])) + " |")
    return "\n".join(lines) + "\n"


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
