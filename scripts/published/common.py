"""The common part of the converters: a published row, a result file, and the check of its constants against their
sources."""
import json
import re
import sys
from collections import OrderedDict, namedtuple

# A document that numbers were taken from: how a row cites it, and how the name of its text begins in seeds/.
Document = namedtuple("Document", "citation file")
SATO = Document("K. Sato (RIKEN R-CCS), DL4Fugaku: AI frameworks on Fugaku, 11th JLESC Workshop, 9 September 2020", "002")
PRABHAT = Document("Prabhat and M. Houston, Scaling the Summit of Exascale Deep Learning, TensorFlow Blog, 11 February 2019, "
                   "https://blog.tensorflow.org/2019/02/scaling-summit-of-exascale-deep-learning.html", "003")
YIN = Document("J. Yin, Early experiences with Machine Learning and Deep Learning on Summit/SummitDev, "
               "Oak Ridge National Laboratory, slides without a date, https://code.ornl.gov/jqyin/mldl-hpc", "004")
# Repositories that the data cite as "DeepBench@da81ba7 PATH …": author, title and date of that commit; where it is; its licence.
REPOSITORIES = {
    "DeepBench": ("Baidu Research, DeepBench, 11 August 2020", "baidu-research/DeepBench", "Apache-2.0"),
    "RBigData/coral2": ("RBigData, CORAL-2 Big Data Analytics Suite, 25 November 2019", "RBigData/coral2", "BSD-2-Clause"),
}


def cited(source):
    """The citation of a file in a repository, by its address: a reader finds it without us."""
    repository, commit, path, place = re.fullmatch(r"(\S+)@(\w+) ([^\s,]+),? (.+)", source).groups()
    what, address, licence = REPOSITORIES[repository]
    return f"{what}, https://github.com/{address}/blob/{commit}/{path} {place} ({licence})"


class Sources:
    """The page of published results and the documents that it was made from; either may be absent."""

    def __init__(self, page=None):
        self.page = page.read_text(encoding="utf-8") if page else None
        folder = page.parent / "seeds" if page else None
        self.documents = {} if folder is None else {
            file.name[:3]: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.txt"))}

    def on_page(self, *texts):
        """Each text must stand on the page: a typing error in a constant of ours would show here."""
        for text in texts:
            if self.page is not None and text not in self.page:
                sys.exit(f"the page of published results lacks {text!r}")

    def in_document(self, document, *texts):
        for text in texts:
            if document.file in self.documents and text not in self.documents[document.file]:
                sys.exit(f"'{document.citation}' lacks {text!r}")

    def row_in_document(self, document, *cells):
        """A table row of the document that ends with these cells, empty ones left out."""
        self.columns_in_document(document, *cells)

    def columns_in_document(self, document, *cells):
        """The columns, from 0, in which that row has these cells; none where the document is absent."""
        if document.file not in self.documents:
            return []
        for line in self.documents[document.file].splitlines():
            found = [(column, cell) for column, cell in enumerate(line.split("\t")) if cell][-len(cells):]
            if [cell for _, cell in found] == list(cells):
                return [column for column, _ in found]
        sys.exit(f"'{document.citation}' has no row that ends with {cells}")


def row(id, benchmark, problem, parameters, citation, text, unit, value, *, seconds=None, rates=None, why_none=None, note=None,
        executed=None, environment=0, launch=0, names=(), ratios=None, **more):
    """A published row. `text`, `unit` and `value` as printed; without `seconds` and `rates` it has no number, and `why_none` says why."""
    ok = why_none is None
    assert ok == (seconds is not None or bool(rates)), id
    printed = {"value": value if ok else None, "unit": unit, "text": text, "reason": note if ok else why_none}
    if ratios:
        printed["ratios"] = ratios
    return OrderedDict([
        ("id", id), ("names", list(names)), ("benchmark", benchmark), ("problem", problem), ("environment", environment),
        ("launch", launch), ("attempt", 0), ("parameters", parameters),
        ("executed", dict({"algorithm": None, "evidence": "published"}, **(executed or {}))),
        ("status", "ok" if ok else "unsupported"), ("reason", why_none),
        ("time_s", None if seconds is None else {"median": seconds}), ("rates", rates or {}),
        ("published", True), ("citation", citation), ("printed", printed), *more.items()])


def environment(device, system, software):
    return {"host": device, "hardware": {"processor": device, "host_system": system}, "software": {"published": software},
            "volatile": {}, "hashes": {"hardware": None, "software": None}}


def result(name, run_id, environments, rows, system):
    run = {"id": run_id, "suite": None, "command": None, "seed": None, "started": None, "finished": None}
    return OrderedDict(schema="assay-result/1", run=run, system=dict(name=name, **system), environments=environments, rows=rows)


def write(path, document, lists=("environments", "rows", "problems")):
    """The form is that of write_json: a line for each top-level member and for each element of a list of objects."""
    def dump(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    parts = []
    for key, value in document.items():
        text = "[\n" + ",\n".join(dump(item) for item in value) + "]" if key in lists else dump(value)
        parts.append(f"{json.dumps(key)}: {text}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    print(f"{path}: {len(document.get('rows', document.get('problems', [])))}")
