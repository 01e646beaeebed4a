"""Simulated fleets of 64 nodes whose noise was measured here: each node has launches that are drawn from one run of many, judged by
`assay accept` with a criterion of spread. They are drawn from all, not in a row: that others use the cores of a shared machine for some
seconds is the fate of all nodes there, and would make a node slow indeed. A node has as many launches as such noise asks for."""
import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "support"))
import make_fleet  # noqa: E402

BUILD = pathlib.Path(os.environ.get("ASSAY_BUILD_DIR", TESTS.parent / "build"))
NODES, LAUNCHES, SLOW, ALARMS = 64, 96, 1.03, 0.01
LEAST, MOST = 3, 32  # launches of a node
# Standard deviations of a node's result between it and the others: the limit is at 3.6 for one false alarm in a hundred fleets of 64,
# the node beyond it by 1.65 in 95 of 100; the rest is what medians lose against means, and the estimate of the deviation.
DEVIATIONS = 6
PROBLEMS = [f"mb1ic{c}ih{s}oc{c}oh{s}kh3ph1" for c in (16, 32) for s in (16, 28)]


def assay(*words, codes=(0,)):
    done = subprocess.run([str(BUILD / "bin" / "assay"), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in codes:
        raise RuntimeError(f"assay {words[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def measure(folder):
    """The rows of many launches, by launch; none marked as disturbed: what noise does is the question."""
    suite = folder / "suite.json"
    suite.write_text(json.dumps({"schema": "assay-suite/1", "name": "spread", "timing": {"max_time": 0.05}, "cases": [
        {"benchmark": "conv", "problem": PROBLEMS, "backend": ["onednn", "native"], "precision": ["fp32"], "direction": ["forward"],
         "threads": [1]}]}))
    assay("run", suite, "--out", folder / "run", "--launches", LAUNCHES, "--no-ceilings")
    document = json.loads((folder / "run" / "result.json").read_text())
    document["environments"] = [make_fleet.quiet(dict(e)) for e in document["environments"][:1]]
    launches = [[] for _ in range(LAUNCHES)]
    for row in document["rows"]:
        if row["status"] == "ok":
            row["environment"] = 0
            row["time_s"] = {**row["time_s"], "waiting": 0.0, "stolen": 0.0, "foreign": 0.0, "own": 1.0}
            launches[row["launch"]].append(row)
    return document, launches


def spread_of(launches):
    """Median over the rows of the standard deviation of the launches' medians, relative."""
    medians = {}
    for rows in launches:
        for row in rows:
            medians.setdefault(row["id"], []).append(math.log(row["time_s"]["median"]))
    return statistics.median(statistics.stdev(values) for values in medians.values())


def launches_of_node(noise):
    return min(MOST, max(LEAST, math.ceil((DEVIATIONS * noise / math.log(SLOW)) ** 2)))


def write_fleet(document, launches, of_node, folder, rng, slow):
    files = []
    for number in range(NODES):
        host = make_fleet.host_of(number)
        rows = [{**make_fleet.scaled(row, slow if number == 0 else 1), "launch": launch}
                for launch, drawn in enumerate(rng.sample(launches, of_node)) for row in drawn]
        node = {**document, "rows": rows, "run": {**document["run"], "id": f"n-{number}"},
                "environments": [{**environment, "host": host} for environment in document["environments"]]}
        files.append(folder / f"{host}.json")
        files[-1].write_text(json.dumps(node))
    return files


def count(fleets, slow, seed):
    """Fleets in which the slow node failed, fleets in which another did, and what the noise was."""
    found = alarms = 0
    with tempfile.TemporaryDirectory(prefix="assay-spread-") as name:
        folder, rng = pathlib.Path(name), random.Random(seed)
        document, launches = measure(folder)
        noise = spread_of(launches)
        of_node = launches_of_node(noise)
        criteria = folder / "criteria.json"
        criteria.write_text(json.dumps({"schema": "assay-criteria/1", "name": "spread", "nodes": NODES,
                                        "spread": [{"false_alarms": ALARMS}]}))
        for _ in range(fleets):
            files = write_fleet(document, launches, of_node, folder, rng, slow)
            verdict = json.loads(assay("accept", *files, "--criteria", criteria, "--format", "json", codes=(0, 4)))
            failed = {node["node"] for node in verdict["nodes"] if node["verdict"] == "PERF-FAIL"}
            found += make_fleet.host_of(0) in failed
            alarms += bool(failed - {make_fleet.host_of(0)})
        return found, alarms, f"launches vary by {100 * noise:.2f} %, each node has {of_node}"


def fleets_of(default=200):
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=default)
    return parser.parse_args().pairs
