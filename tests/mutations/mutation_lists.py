"""Reads the lists of mutations (lists/*.txt) and applies them to sources."""
import dataclasses
import pathlib
import re

LISTS = pathlib.Path(__file__).resolve().parent / "lists"
EXPECTATIONS = ("caught", "equivalent", "documented")


@dataclasses.dataclass
class Edit:
    file: str
    find: str
    replace: str = ""


@dataclasses.dataclass
class Mutation:
    name: str
    group: str
    expected: str
    sample: bool
    breaks: str = ""
    because: str = ""
    honest: str = "ok"  # what the commands give without the mutation
    edits: list = dataclasses.field(default_factory=list)
    first: list = dataclasses.field(default_factory=list)
    run: list = dataclasses.field(default_factory=list)


class Wrong(Exception):
    """A list or a mutation that cannot be used."""


def fields(text):
    """(line, key, value) of a list; indented lines continue a value, and "[name] words" gives the key "["."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        if line[0] == " ":
            entries[-1][2] += "\n" + line
        elif line[0] == "[":
            entries.append([number, "[", line[1:]])
        else:
            key, separator, value = line.partition(":")
            if not separator:
                raise Wrong(f"line {number}: '{line}' is neither [name], KEY: VALUE nor a continuation")
            entries.append([number, key, value.strip()])
    return entries


def read_list(path):
    mutations, words, file = [], {}, ""

    def expanded(text):
        return re.sub(r"\$([A-Z_]+)", lambda found: words[found[1]], " ".join(text.split()))

    for number, key, value in fields(path.read_text()):
        try:
            if key == "[":
                name, _, rest = value.partition("]")
                expected, *more = rest.split()
                if expected not in EXPECTATIONS or more not in ([], ["sample"]):
                    raise Wrong(f"[{name}] says '{rest.strip()}' (known: {', '.join(EXPECTATIONS)}, then perhaps: sample)")
                mutations.append(Mutation(name, path.stem, expected, bool(more)))
            elif key.startswith("$"):
                words[key[1:]] = expanded(value)
            elif key == "file":
                file = value
            elif key == "find":
                mutations[-1].edits.append(Edit(file, value))
            elif key == "replace":
                mutations[-1].edits[-1].replace = value
            elif key in ("breaks", "because"):
                setattr(mutations[-1], key, " ".join(value.split()))
            elif key == "honest":
                if value not in ("ok", "caught"):
                    raise Wrong(f"honest is '{value}' (known: ok, caught)")
                mutations[-1].honest = value
            elif key in ("first", "run"):
                getattr(mutations[-1], key).append(expanded(value))
            else:
                raise Wrong(f"unknown key '{key}'")
        except (Wrong, KeyError, ValueError, IndexError) as error:
            raise Wrong(f"{path.name}, line {number}: {error!r}") from error
    for mutation in mutations:
        if not mutation.breaks or not mutation.edits or not mutation.run:
            raise Wrong(f"{path.name}: [{mutation.name}] lacks `breaks`, `find` or `run`")
        if mutation.expected != "caught" and not mutation.because:
            raise Wrong(f"{path.name}: [{mutation.name}] is {mutation.expected}, but lacks `because`")
    return mutations


def read_all():
    mutations = [mutation for path in sorted(LISTS.glob("*.txt")) for mutation in read_list(path)]
    names = [mutation.name for mutation in mutations]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Wrong(f"names that two mutations have: {', '.join(sorted(twice))}")
    return mutations


def pattern(text):
    """Finds a piece of source text, however it is broken into lines."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    joined = ""
    for before, after in zip([""] + tokens, tokens):
        words = re.match(r"\w", before) and re.match(r"\w", after)
        joined += (r"\s+" if words else r"\s*" if before else "") + re.escape(after)
    return re.compile(joined)


def apply(source, edit, name):
    """`source` with one edit. Wrong if its place is not there exactly once."""
    if not re.search(r"\bMUTATED\b", edit.replace):
        raise Wrong("the replacement lacks the word MUTATED")
    places = list(pattern(edit.find).finditer(source))
    if len(places) != 1:
        raise Wrong(f"{edit.file} has its text {len(places)} times: {' '.join(edit.find.split())}")
    new = re.sub(r"\bMUTATED\b", f'ASSAY_MUTATED("{name}")', edit.replace)
    # The mutated file has as many lines as before where possible, so that messages name lines of the source.
    start, end = places[0].span()
    return source[:start] + new + source[end:]


def mutated(root, file):
    """A mutated copy of a file, and why mutations of it are left out, by name."""
    source = (root / file).read_text()
    problems = {}
    for mutation in read_all():
        changed = source
        try:
            for edit in mutation.edits:
                if edit.file == file:
                    changed = apply(changed, edit, mutation.name)
            source = changed
        except Wrong as problem:
            problems[mutation.name] = str(problem)
    return f'#include "tests/mutations/mutated.hpp"\n#line 1 "{root / file}"\n{source}', problems
