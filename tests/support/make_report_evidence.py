#!/usr/bin/env python3
"""Inputs for what a report shows beside times, made up and valid: copies between places, pairs of nodes, devices, a burn-in, storage,
blame. make_report_evidence.py FOLDER writes them and prints their names."""
import math
import random
import sys

import make_results as synthetic
from make_report_inputs import collective_row, timed, write

PLACES = ["numa0", "numa1", "numa2", "numa3", "gpu0", "gpu1"]
HOSTS = [f"node{i:02}" for i in range(1, 6)]


def plain_row(benchmark, descriptor, identity, parameters, seconds, noise):
    row = synthetic.row(descriptor, 1, [1.0] * 12)
    row["id"], row["benchmark"], row["names"] = identity, benchmark, []
    row["parameters"] = parameters
    row["id_form"] = synthetic.id_form(row)
    row["executed"]["algorithmic_flops"] = None
    timed(row, seconds, noise)
    row["problem"] = {"descriptor": descriptor, "flops": None, "bytes": None}
    return row


def copies(document):
    """Copies between NUMA nodes and GPUs, one way and both; GPU 1 has a link of half the width."""
    noise = random.Random("copies")
    for direction, size in (("one", 65536), ("one", 67108864), ("both", 67108864)):
        for source in PLACES:
            for target in PLACES:
                if direction == "both" and source == target:
                    continue
                slow = 2.1 if "gpu1" in (source, target) else 1
                bandwidth = (26e9 if "gpu" in source + target else 9e10 if source == target else 4.4e10) / slow
                paths = 2 if direction == "both" else 1
                parameters = {"from": source, "to": target, "direction": direction, "backend": "native", "algorithm": "regular", "cache": "cold",
                              "threads": 8, "copied_by": "to", "device": "cpu"}
                words = [source, target, direction, "native/regular", f"b{size}", "cold/t8/to/cpu"]
                row = plain_row("copy", f"b{size}", "copy/" + "/".join(words), parameters, 9e-7 + paths * size / bandwidth, noise)
                row["problem"].update(paths=paths, buffer_bytes=size, bytes=2 * paths * size, amounts={"bytes_per_s": 2 * paths * size, "copy_bw": paths * size})
                median = row["time_s"]["median"]
                row["rates"] = {"bytes_per_s": 2 * paths * size / median, "copy_bw": paths * size / median}
                document["rows"].append(row)


def pairs():
    """A result for each pair of five nodes, of which one is slow."""
    noise, made = random.Random("pairs"), {}
    for i, one in enumerate(HOSTS):
        for other in HOSTS[i + 1:]:
            document = synthetic.document(rows=0, hosts=(one,), run={"id": f"{one}+{other}"}, system="cluster")
            document["environments"][0]["rank_hosts"] = [one, other]
            seconds = 2**24 / 1.2e10 * (1.9 if HOSTS[3] in (one, other) else 1)
            document["rows"] = [collective_row("sendrecv", "mpi", "fp32", 2**24, 2, 2, seconds, noise)]
            made[f"{one}+{other}"] = document
    return made


def devices(document):
    """Two GPUs of a host, of which one corrects errors."""
    for i, row in enumerate(document["rows"]):
        row["device_health"] = [
            {"device": f"0000:{bus}:00.0", "values": {"pcie_width": width, "pcie_generation": 5, "nvlinks_active": 18, "spare_rows": 1920.0},
             "errors": {"ecc uncorrected dram": 0, "xid 79": 0}, "corrected": {"ecc corrected dram": 12 * n + i, "pcie replays": n},
             "corrected_meanwhile": {"ecc corrected dram": n}}
            for n, (bus, width) in enumerate((("1b", 16), ("9c", 8)))]


def burnt(host, case, ratio, number):
    """A row of a burn-in of two cores for half an hour, in which runs take longer and longer."""
    noise = random.Random(f"{host}{case}")
    row = synthetic.row(f"mb{number}c64", 1, [0.001 * math.exp(noise.gauss(0, 0.002)) for _ in range(12)])
    windows = [{"unix_s": 1.7e9 + 60 * i, "seconds": 30 * (1 + (ratio - 1) * i / 29) * math.exp(noise.gauss(0, 0.002)), "runs": 30000}
               for i in range(30)]
    runs, seconds = 2 * sum(window["runs"] for window in windows), sum(window["seconds"] for window in windows)
    hours = 2 * seconds / 3600
    row["burn"] = {
        "started_unix_s": 1.7e9 - 60, "device": "cpu", "places": [f"{host}: processors 0", f"{host}: processors 1"], "wall_s": 1900,
        "seconds": seconds, "check_s": 0.03 * seconds, "runs": runs, "poisoned": runs, "faulty": 0, "undecided": 0,
        "data": [{"name": "integers", "exact": True, "runs": runs, "poisoned": runs, "seconds": seconds, "faulty": 0, "undecided": 0, "excluded": None}],
        "windows": windows, "faults": [], "power_w": {}, "device_hours": hours, "faults_per_device_hour": 0,
        "limit_per_device_hour": -math.log(0.05) / hours}
    return row


def burns():
    made = {}
    for i, host in enumerate(HOSTS[:3]):
        document = synthetic.document(rows=0, hosts=(host,), run={"id": f"burn-{host}"}, system="cluster")
        document["rows"] = [burnt(host, case, 1.08 if i == 1 else 1, case) for case in (1, 2)]
        made[f"burn-{host}"] = document
    return made


def storage(document):
    noise = random.Random("storage")
    for operation, descriptor, seconds in (("write", "mb200", 0.41), ("read", "mb200", 0.22), ("metadata", "n1000", 0.6),
                                           ("random", "mb200n500kib4", 0.08)):
        parameters = {"operation": operation, "ranks": 4, "nodes": 1}
        row = plain_row("io", descriptor, f"io/{operation}/{descriptor}/r4/n1", parameters, seconds, noise)
        count, median = {"metadata": 4000, "random": 2000}.get(operation), row["time_s"]["median"]
        size = 0 if operation == "metadata" else 2000 * 4096 if operation == "random" else 2e8
        amounts = {"files_per_s": count} if operation == "metadata" else {"bytes_per_s": size}
        if operation == "random":
            amounts["reads_per_s"] = count
        row["problem"].update(bytes=size or None, amounts=amounts)
        row["rates"] = {name: amount / median for name, amount in amounts.items()}
        row["metrics"] = {name: {"value": value, "unit": unit, "better": better} for name, value, unit, better in (
            [(f"{call}_{end}", value, unit, better) for call in ("create", "stat", "open", "unlink")
             for end, value, unit, better in (("per_s", 2.1e4, "1/s", "higher"), ("p50_s", 4e-5, "s", "lower"), ("p99_s", 2e-4, "s", "lower"))]
            if operation == "metadata" else [("storage_ratio", 1.002, "", None)] +
            ([("read_p50_s", 8e-5, "s", "lower"), ("read_p99_s", 9e-4, "s", "lower")] if operation == "random" else []))}
        document["rows"].append(row)


def blame(row):
    """The third of four ranks waits for a processor."""
    ranks = [{"rank": i, "host": HOSTS[i // 2], "place": f"processors {i % 2}", "last": 300 if i == 2 else 10, "cost_s": 0.3 if i == 2 else 0.0,
              "low_s": 0.29 if i == 2 else -0.01, "high_s": 0.31 if i == 2 else 0.01, "input_s": 0, "compute_s": 3.4 if i == 2 else 3.1,
              "network_s": 0, "wait_s": 0.3 if i == 2 else 0.6, "processor_s": 3.1, "ready_s": 0.31 if i == 2 else 0.0} for i in range(4)]
    row["blame"] = {
        "of": "timed steps", "on_host": True, "events": 400, "runs": 200, "seconds": 4.0, "network_s": 0.1, "clock_error_s": 1e-6, "resolution": 0.0025,
        "undecided": None, "ranks": ranks, "links": None,
        "blamed": [{"rank": 2, "host": HOSTS[1], "place": "processors 0", "did": "compute",
                    "how": "it waited for a processor that others used", "cost_s": 0.3, "cost": 0.075}]}


def all_evidence():
    machine = synthetic.document(rows=3, launches=1, system="cluster", hosts=("node01",))
    devices(machine)
    copies(machine)
    storage(machine)
    noise = random.Random("blame")
    for size in (2**20, 2**22):
        machine["rows"].append(collective_row("allreduce", "mpi", "fp32", size, 4, 2, size / 1e9, noise))
        machine["rows"][-1]["blame"] = {"unsupported": "arrivals are of collectives of several ranks, and this is a made-up row"}
    blame(machine["rows"][-1])
    links = collective_row("bisection", "mpi", "fp32", 2**24, 4, 4, 0.004, noise)
    links["metrics"] = {"slow_links": {"value": 1, "unit": "", "better": "lower"}, "slow_link_node02+node03": {"value": 2.04, "unit": "", "better": "lower"}}
    machine["rows"].append(links)
    return {"machine": machine, **pairs(), **burns()}


if __name__ == "__main__":
    print("\n".join(map(str, write(sys.argv[1], all_evidence()))))
