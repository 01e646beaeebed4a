"""The common part of the claims about fleets: 1,000 simulated nodes with 200 rows each, made of one real result, and
runs of `assay` on them.

200 rows are 40 ids of 5 launches, as docs/acceptance.md advises; --rows-of-one-launch makes them 200 ids."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "tests" / "support"))
import make_fleet  # noqa: E402

PAIRS = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 6
NODES = int(sys.argv[sys.argv.index("--nodes") + 1]) if "--nodes" in sys.argv else 1000
IDS, LAUNCHES = (200, 1) if "--rows-of-one-launch" in sys.argv else (40, 5)
MAX_TIME = 0.01
ASSAY = os.path.join(os.environ.get("ASSAY_BUILD_DIR", str(SOURCE / "build")), "bin", "assay")
SLOW, WRONG, ABSENT = "n0017", "n0023", "n0040"


def run(*words, codes=(0,)):
    """Runs `assay`; (seconds, greatest resident bytes)."""
    start = time.perf_counter()
    process = subprocess.Popen([ASSAY, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        sys.exit(f"assay {words[0]} ended with {process.returncode}: {said.strip()[-2000:]}")
    return seconds, usage.ru_maxrss * 1024


def template(folder, cases=None, launches=LAUNCHES):
    """A result of the cases, by default IDS small convolutions, measured here."""
    cases = cases or [{"benchmark": "conv", "problem": [f"mb1ic8ih8oc{4 + i}oh8kh3ph1" for i in range(IDS)],
                       "backend": ["reference"], "algorithm": ["direct"], "threads": [1]}]
    suite = folder / "suite.json"
    suite.write_text(json.dumps({"schema": "assay-suite/1", "name": "fleet", "timing": {"max_time": MAX_TIME}, "ceilings": False,
                                 "cases": cases}))
    run("run", suite, "--out", folder / "template", "--launches", launches)
    return json.loads((folder / "template" / "result.json").read_text())


class Nodes:
    """with Nodes() as nodes: nodes.folder has the results, nodes.work is for outputs."""

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.work = pathlib.Path(self.temporary.name)
        self.folder = self.work / "nodes"
        measured = self.template()
        first = measured["rows"][0]["id"]
        files = make_fleet.fleet(measured, self.folder, NODES, slow={SLOW: 1.1}, statuses={WRONG: {first: "incorrect"}}, absent=(ABSENT,))
        self.note = f"{len(files)} files of {len(measured['rows'])} rows, {sum(f.stat().st_size for f in files) / 1e6:.0f} MB"
        criteria = json.loads((SOURCE / "suites" / "criteria" / "acceptance.json").read_text())
        criteria["nodes"] = [make_fleet.host_of(i) for i in range(NODES)]
        self.criteria = self.work / "criteria.json"
        self.criteria.write_text(json.dumps(criteria))
        return self

    def template(self):
        return template(self.work)

    def __exit__(self, *_):
        self.temporary.cleanup()

    def gather(self):
        names = self.work / "names"
        names.write_text("".join(f"{make_fleet.host_of(i)}\n" for i in range(NODES)))
        return run("gather", self.folder, "--node-file", names, "--out", self.work / "fleet.json", codes=(6,))

    def accept(self, source=None):
        """Judges the nodes, and looks whether it found those that were made slow, wrong and absent."""
        out = self.work / "acceptance.json"
        cost = run("accept", source or self.folder, "--criteria", self.criteria, "--format", "json", "--out", out, codes=(3,))
        verdicts = {node["node"]: node["verdict"] for node in json.loads(out.read_text())["nodes"] if node["verdict"] != "PASS"}
        if verdicts != {SLOW: "PERF-FAIL", WRONG: "INCORRECT", ABSENT: "MISSING"}:
            sys.exit(f"assay accept found {verdicts}")
        return cost

    def report(self):
        """The report of the results and of the acceptance, which must be there."""
        return run("report", self.folder, self.work / "acceptance.json", "--out", self.work / "report.html")


def claim(values, limit, unit, note):
    json.dump({"pairs": [[value, limit] for value in values], "unit": unit, "note": note}, sys.stdout)
