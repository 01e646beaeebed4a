"""The common part of the claims about the load of results: 199 simulated nodes with 57 rows each, whose samples are
most of their 300 MB, and every command that reads them, from the folder or from the gathered file; the same nodes again
as the other side of a comparison; and a list of 20,000 nodes more, which are missing."""
import json
import sys

from support import fleet
import make_fleet  # of tests/support, which fleet puts on the path of modules

fleet.NODES, fleet.MAX_TIME = 200, 0.1  # one of them is absent
CASES = [
    {"benchmark": "conv", "problem": [f"mb1ic8ih8oc{4 + i}oh8kh3ph1" for i in range(12)], "backend": ["reference"],
     "algorithm": ["direct"], "direction": ["forward", "bwd_data", "bwd_weights"], "threads": [1]},
    {"benchmark": "gemm", "problem": ["m8n8k8", "m16n16k16", "m8n16k8"], "precision": ["fp32", "bf16", "fp64"],
     "backend": ["reference"], "threads": [1]},
    {"benchmark": "stream", "problem": [f"{kernel}_n{n}" for kernel in ("triad", "copy", "add") for n in (65536, 131072)],
     "precision": ["fp32", "fp64"], "threads": [1]}]


class Load(fleet.Nodes):
    def template(self):
        return fleet.template(self.work, CASES, 1)

    def commands(self):
        """Name -> words."""
        self.gather()
        file, model, by_host = self.work / "fleet.json", *(("--formula", f"log(time) ~ {term} + log(bytes)") for term in ("benchmark", "host"))
        weeks = self.work / "weeks"  # the same rows as so many runs of one machine
        again = self.work / "again"  # and as a second run of each node

        def write(folder, document, run):
            document["run"].update(id=f"{folder.parent.name} {run}", started=f"20{run // 52:02}-01-01T00:{run % 52:02}:00.000Z", finished=None)
            folder.mkdir(parents=True)
            (folder / "result.json").write_text(json.dumps(document))

        for run, result in enumerate(sorted(self.folder.glob("*/result.json"))):
            document = json.loads(result.read_text())
            write(again / result.parent.name, document, run)
            for environment in document["environments"]:
                environment["host"] = make_fleet.host_of(0)
            write(weeks / f"{run:03}", document, run)
        missing = self.work / "missing.json"
        criteria = json.loads(self.criteria.read_text())
        missing.write_text(json.dumps({**criteria, "nodes": [make_fleet.host_of(i) for i in range(fleet.NODES + 20000)]}))
        tables = {f"table {' '.join(words)}": ("table", self.folder, *words)
                  for words in ((), ("--columns", "all"), ("--format", "csv"), ("--format", "json"), ("--by", "system"),
                                ("--by", "precision"), ("--by", "direction"))}
        return {"validate": ("validate", file), "table of one file": ("table", file), **tables, "model": ("model", self.folder, *model),
                "model of one file": ("model", file, *model), "model by host": ("model", self.folder, *by_host),
                "compare": ("compare", self.folder, weeks / "000", "--vary", "nothing"),
                "compare two sides": ("compare", self.folder, again, "--vary", "nothing"),
                "history": ("history", weeks), "accept": ("accept", self.folder, "--criteria", self.criteria),
                "accept of one file": ("accept", file, "--criteria", self.criteria),
                "accept with 20,000 missing": ("accept", self.folder, "--criteria", missing, "--junit", self.work / "missing.xml"),
                "report": ("report", self.folder, "--out", self.work / "report.html"),
                "gather": ("gather", self.folder, "--out", self.work / "again.json")}


def claim(limit, unit, part):
    """`part` 0: seconds, 1: bytes. Each command is a pair."""
    with Load() as load:
        costs = {name: fleet.run(*words, codes=(0, 3, 4, 5, 6)) for name, words in load.commands().items()}
        note = load.note
    for name, (seconds, peak) in costs.items():
        print(f"{name}: {seconds:.1f} s, {peak / 1e6:.0f} MB", file=sys.stderr)
    worst = max(costs, key=lambda name: costs[name][part])
    fleet.claim([cost[part] for cost in costs.values()], limit, unit,
                f"{worst} {costs[worst][0]:.1f} s, {costs[worst][1] / 1e6:.0f} MB; {note}")
