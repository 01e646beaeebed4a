#!/usr/bin/env python3
"""Result files of a simulated fleet, made of one that was measured: make_fleet.py TEMPLATE.json FOLDER --nodes 1000

Each node has the rows of the template under its own host name, with times of its own: every time of a row is multiplied by one factor
(a node's, a launch's and a slow node's; the launches of a row begin as equal), and what follows from the time (rates, fractions, speedups) is computed anew. So each file is
valid, and has the size and the fields of a real one. As a module: `fleet(template, folder, ...)`."""
import argparse
import json
import math
import pathlib
import random

TIMES = ("median", "mad", "min", "p95", "p99")


def scaled(row, factor):
    """The row as if each of its runs had taken `factor` times as long."""
    if row["time_s"] is None:
        return row
    samples = [s * factor for s in row["samples_s"]]
    time = {**row["time_s"], **{name: row["time_s"][name] * factor for name in TIMES}}
    if time["ci95"]:
        time["ci95"] = [s * factor for s in time["ci95"]]
    if "rank_medians_s" in time:
        time["rank_medians_s"] = [s * factor for s in time["rank_medians_s"]]
    made = {**row, "samples_s": samples, "time_s": time,
            "rates": {name: rate if rate is None else rate / factor for name, rate in row["rates"].items()}}
    if made.get("ceiling"):
        made["ceiling"] = {**made["ceiling"], "fraction": made["ceiling"]["fraction"] / factor, "exceeded": False}
    if made.get("baseline"):
        made["baseline"] = {**made["baseline"], "speedup": made["baseline"]["speedup"] / factor}
    return made


def node_of(template, host, number, noise, factors, statuses):
    """factors and statuses: part of an id (or "") -> factor of its times, or a status other than ok."""
    environments = [{**environment, "host": host} for environment in template["environments"]]
    rows, levels = [], {}
    for row in template["rows"]:
        factor = math.exp(noise.gauss(0, 0.004)) * math.prod(f for part, f in factors.items() if part in row["id"])
        status = next((s for part, s in statuses.items() if part in row["id"]), None)
        if status is None and row["time_s"] is not None:
            # The machine of the template may be busy: launches vary as is asked for, not as they did there.
            level = levels.setdefault(row["id"], row["time_s"]["median"])
            rows.append(scaled(row, factor * level / row["time_s"]["median"]))
        elif status is None:
            rows.append(row)
        else:
            rows.append({**row, "status": status, "reason": f"simulated: {status}", "samples_s": [], "time_s": None, "rates": {},
                         "ceiling": None, "ceiling_reason": "simulated", "baseline": None,
                         "energy_j": None, "energy_domains_j": None, "energy_reason": "simulated"})
            rows[-1].pop("metrics", None)
            if status == "incorrect":  # it keeps what was wrong
                rows[-1]["verification"] = {**row["verification"], "passed": False, "reason": "simulated: incorrect"}
            else:
                rows[-1].update(verification=None, executed=None)
    run = {**template["run"], "id": f"{template['run']['id']}-{number:05}"}
    return {**template, "run": run, "environments": environments, "rows": rows}


def host_of(number):
    return f"n{number:04}"


def quiet(environment):
    """A template is measured on whatever machine runs the tests; a fleet that is to pass has none of its other work."""
    for part in ("volatile", "volatile_after"):
        if environment.get(part):
            environment[part] = {**environment[part], "load": [0.0, 0.0, 0.0], "steal_s": 0.0}
    return environment


def fleet(template, folder, nodes=1000, slow=None, statuses=None, absent=(), disturbed=(), throttled=(), seed=1, variation=0.005):
    """Writes FOLDER/<host>/result.json. slow: host -> factor, or {part of an id: factor}; statuses: host -> {part of an id: status};
    absent: hosts without a result; disturbed: hosts whose first row was timed beside other work; throttled: hosts whose
    first row was timed while heat throttled the device."""
    slow, statuses = slow or {}, statuses or {}
    template = {**template, "environments": [quiet(dict(e)) for e in template["environments"]], "rows": [
        row if row["time_s"] is None else {**row, "time_s": {**row["time_s"], "waiting": 0.0, "stolen": 0.0, "foreign": 0.0, "own": 1.0}}
        for row in template["rows"]]}
    written = []
    for number in range(nodes):
        host = host_of(number)
        if host in absent:
            continue
        noise = random.Random(f"{seed}/{number}")
        factors = {"": math.exp(noise.gauss(0, variation))}
        own = slow.get(host, {})
        factors.update(own if isinstance(own, dict) else {"/": own})
        document = node_of(template, host, number, noise, factors, statuses.get(host, {}))
        if host in disturbed:
            first = document["rows"][0]
            document["rows"][0] = {**first, "time_s": {**first["time_s"], "stolen": 0.5}}
        if host in throttled:
            state = {"before": {}, "after": {}, "seconds": 1, "throttled_s": {"heat": 0.5}}
            document["rows"][0] = {**document["rows"][0], "device_state": state}
        place = pathlib.Path(folder) / host
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps(document))
        written.append(place / "result.json")
    return written


def pair(text):
    host, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not HOST=VALUE")
    return host, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("template")
    parser.add_argument("folder")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--slow", type=pair, action="append", default=[], metavar="HOST=FACTOR")
    parser.add_argument("--incorrect", action="append", default=[], metavar="HOST", help="its first row is incorrect")
    parser.add_argument("--absent", action="append", default=[], metavar="HOST")
    parser.add_argument("--disturbed", action="append", default=[], metavar="HOST")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    template = json.loads(pathlib.Path(given.template).read_text())
    first = template["rows"][0]["id"]
    made = fleet(template, given.folder, given.nodes, slow={host: float(factor) for host, factor in given.slow},
                 statuses={host: {first: "incorrect"} for host in given.incorrect}, absent=given.absent, disturbed=given.disturbed,
                 seed=given.seed)
    print(f"{len(made)} files, {sum(file.stat().st_size for file in made) / 1e6:.0f} MB, {len(template['rows'])} rows each")


if __name__ == "__main__":
    main()
