#!/usr/bin/env python3
"""Synthetic result files: valid under results-schema/result.schema.json and core/result/result_check.cpp, of any size.

  make_results.py OUT.json --rows 2000 --launches 5 --slow /mb1c0017/=1.05 --seed 3

rows: ids; a file has rows x launches rows. Rows of several precisions, backends or algorithms are the product with problems.
The noise is by launch (log-normal, --variation) and within a launch (0.2 %); --drift is the relative change of the machine over
the launches. As a module: `document(**options)` gives the JSON document."""
import argparse
import json
import math
import random
import sys


def quantile(ordered, p):
    at = p * (len(ordered) - 1)
    low = int(at)
    if low + 1 >= len(ordered):
        return ordered[-1]
    part = at - low
    return ordered[low] if part == 0 else ordered[low] + part * (ordered[low + 1] - ordered[low])


def effective(samples):
    """core/base/statistics.cpp: ranks, Geyer's initial monotone positive sequence."""
    n = len(samples)
    if n < 4:
        return float(n)
    order = sorted(range(n), key=lambda i: samples[i])
    ranks = [0.0] * n
    first = 0
    while first < n:
        end = first
        while end < n and samples[order[end]] == samples[order[first]]:
            end += 1
        for i in order[first:end]:
            ranks[i] = (first + end + 1) / 2
        first = end
    x = [rank - (n + 1) / 2 for rank in ranks]
    variance = sum(v * v for v in x)
    if variance == 0:
        return float(n)
    tau, before, lag = -1.0, 2.0, 0

    def correlation(k):
        return sum(a * b for a, b in zip(x, x[k:])) / variance

    while lag + 1 < n:
        pair = min((1.0 if lag == 0 else correlation(lag)) + correlation(lag + 1), before)
        if pair <= 0:
            break
        tau += 2 * pair
        before = pair
        lag += 2
    return min(max(n / max(tau, 1e-300), 1.0), float(n))


def order_statistic(m):
    """Largest k with P(Bin(m, 1/2) < k) <= 2.5 %."""
    k, below = 0, 0.0
    while True:
        below += math.comb(m, k) / 2**m
        if below > 0.025 or k + 1 > m / 2:
            return k
        k += 1


def time_s(samples):
    ordered = sorted(samples)
    n, middle = len(samples), quantile(ordered, 0.5)
    n_effective = effective(samples)
    interval = None
    if n_effective >= 6:
        m = math.floor(n_effective)
        k = order_statistic(m)
        index = int(min(max(math.floor(k * ((n + 1) / (m + 1)) + 1e-9), 1), n)) - 1
        interval = [ordered[index], ordered[n - 1 - index]] if k else [ordered[0], ordered[-1]]
    return {"median": middle, "mad": quantile(sorted(abs(s - middle) for s in samples), 0.5), "min": ordered[0],
            "p95": quantile(ordered, 0.95), "p99": quantile(ordered, 0.99), "ci95": interval,
            "ci95_reason": None if interval else f"{n_effective:.3g} effective samples, a 95 % interval needs 6",
            "n": n, "n_effective": n_effective, "stopped_by": "precision", "batch": 1, "clock_s": 3e-8, "warmup_runs": 3,
            "warmup_s": 0.01, "waiting": 0.0, "stolen": 0.0, "slowest_rank": 0}


def environment(host, hardware=None, software=None):
    import uuid
    hardware = {"processor": "Synthetic 9000", "sockets": 1, "cores": 8, **(hardware or {})}
    software = {"os": "Synthetic Linux 1", "kernel": "Linux 6.1", "assay": {"version": "0.1.0", "flags": "-O3"},
                "libraries": {"libc": "glibc 2.36", "onednn": {"version": "3.7"}}, "openmp_runtimes": ["libgomp.so.1"],
                "switches": {}, **(software or {})}
    hashed = [str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(part, sort_keys=True))) for part in (hardware, software)]
    return {"host": host, "hardware": hardware, "software": software, "volatile": {},
            "hashes": {"hardware": hashed[0], "software": hashed[1]}}


def id_form(one):
    """The form of the row's id: the id itself, but for the numbers of ranks and nodes; it leaves out all else."""
    form, named = one["id"], set()
    for letter, name in (("r", "ranks"), ("n", "nodes")):
        part = f"/{letter}{one['parameters'].get(name)}"
        if (form + "/").count(part + "/") == 1:
            form, named = (form + "/").replace(part + "/", f"/{letter}{{{name}}}/")[:-1], named | {name}
    return form + "".join(f"[/{name}]" for name in one["parameters"] if name not in named)


def row(problem, seconds, samples, *, precision="fp32", backend="onednn", algorithm="direct", direction="forward", launch=0,
        place=0, status="ok", names=None, flops=None, error=1.5e-7):
    flops = flops or 1e9
    identity = f"conv/{direction}/{precision}/{backend}/{algorithm}/{problem}/hot/t2"
    made = {"id": identity, "names": names or [], "benchmark": "conv",
            "problem": {"descriptor": problem, "flops": flops, "bytes": flops / 10}, "environment": place, "launch": launch,
            "attempt": 0, "required": False,
            "parameters": {"direction": direction, "precision": precision, "backend": backend, "algorithm": algorithm,
                           "cache": "hot", "threads": 2, "ranks": 1, "nodes": 1},
            "executed": None, "status": status, "reason": None, "verification": None, "setup_s": {"create": 0.001},
            "samples_s": [], "time_s": None, "rates": {}, "ceiling": None, "ceiling_reason": "synthetic", "energy_j": None,
            "energy_reason": "synthetic", "baseline": None, "baseline_reason": "synthetic"}
    made["id_form"] = id_form(made)
    if status in ("ok", "incorrect"):
        made["executed"] = {"algorithm": algorithm, "implementation": "jit", "storage": precision, "compute": precision,
                            "accumulate": "fp32", "layout": "any", "workspace_bytes": 0, "evidence": "library",
                            "algorithmic_flops": flops}
        made["verification"] = {"passed": status == "ok", "reference": "fp64", "max_error": error, "norm_error": error / 3,
                                "bound": error * 10, "norm_bound": error * 5, "error_over_bound": 0.1, "checked": 4096,
                                "outputs": 25690112, "exact": True, "reason": None}
    if status != "ok":
        made["reason"] = f"synthetic: {status}"
        return made
    made["samples_s"] = samples
    made["time_s"] = time_s(samples)
    middle = made["time_s"]["median"]
    made["rates"] = {"flops_per_s": flops / middle, "bytes_per_s": flops / 10 / middle,
                     "algorithmic_flops_per_s": flops / middle}
    return made


ERRORS = {"fp64": 1e-15, "fp32": 1.5e-7, "tf32": 4e-4, "fp16": 4e-4, "bf16": 3e-3}
SPEED = {"fp64": 0.5, "fp32": 1.0, "tf32": 3.0, "fp16": 4.0, "bf16": 4.0}


def document(rows=100, launches=5, hosts=("node01",), seed=1, noise_seed=None, variation=0.005, drift=0.0, slow=None,
             precisions=("fp32",), backends=("onednn",), algorithms=("direct",), statuses=None, samples=12, system="synthetic",
             hardware=None, software=None, run=None, hash="b6f1", started="2026-01-05T12:00:00.000Z"):
    """slow and statuses: part of an id -> factor of the time, or status. `seed` decides the problems, `noise_seed` (default: seed)
    the noise: two sides of a comparison share the first. Several hosts share the launches: launch n runs on host n modulo hosts."""
    slow, statuses = slow or {}, statuses or {}
    shape, noise = random.Random(seed), random.Random(f"{seed if noise_seed is None else noise_seed}/noise")
    cases = []
    settings = [(p, b, a) for p in precisions for b in backends for a in algorithms]
    for i in range(rows):
        if i % len(settings) == 0:
            seconds, flops = math.exp(shape.uniform(math.log(1e-5), math.log(1e-1))), 10.0 ** shape.uniform(6, 11)
        precision, backend, algorithm = settings[i % len(settings)]
        number = i // len(settings)
        cases.append((f"mb1c{number:04d}", seconds / SPEED.get(precision, 1) * (1 + 0.3 * backends.index(backend)), flops, precision,
                      backend, algorithm))
    all_rows = []
    for launch in range(launches):
        order = list(range(len(cases)))
        noise.shuffle(order)
        machine = 1 + drift * launch / max(1, launches - 1)
        for i in order:
            problem, seconds, flops, precision, backend, algorithm = cases[i]
            one = row(problem, seconds, [], precision=precision, backend=backend, algorithm=algorithm, status="failed")
            factor = math.prod(f for part, f in slow.items() if part in one["id"])
            status = next((s for part, s in statuses.items() if part in one["id"]), "ok")
            centre = seconds * factor * machine * math.exp(noise.gauss(0, variation))
            timed = [centre * math.exp(noise.gauss(0, 0.002)) for _ in range(samples)]
            all_rows.append(row(problem, seconds, timed, precision=precision, backend=backend, algorithm=algorithm, launch=launch,
                                place=launch % len(hosts), status=status, names=[f"list/case-{i:04d}"], flops=flops,
                                error=ERRORS.get(precision, 1e-3)))
    return {"schema": "assay-result/1",
            "run": {"id": f"synthetic-{seed}-{noise_seed}-{started}", "suite": "synthetic", "command": "assay run synthetic",
                    "seed": 1, "started": started, "finished": started, "suite_hash": hash, "launches": launches,
                    "filter": "", "launcher": [], "max_time": 0.5, **(run or {})},
            "system": {"name": system}, "environments": [environment(h, hardware, software) for h in hosts], "rows": all_rows}


def pair(text):
    part, equals, value = text.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is no PART=VALUE")
    return part, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--rows", type=int, default=100, help="ids")
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--hosts", default="node01", help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noise-seed", type=int)
    parser.add_argument("--variation", type=float, default=0.005)
    parser.add_argument("--drift", type=float, default=0.0)
    parser.add_argument("--slow", type=pair, action="append", default=[], metavar="PART=FACTOR")
    parser.add_argument("--status", type=pair, action="append", default=[], metavar="PART=STATUS")
    parser.add_argument("--precisions", default="fp32")
    parser.add_argument("--backends", default="onednn")
    parser.add_argument("--algorithms", default="direct")
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--system", default="synthetic")
    parser.add_argument("--started", default="2026-01-05T12:00:00.000Z")
    given = parser.parse_args()
    made = document(rows=given.rows, launches=given.launches, hosts=given.hosts.split(","), seed=given.seed,
                    noise_seed=given.noise_seed, variation=given.variation, drift=given.drift,
                    slow={part: float(factor) for part, factor in given.slow}, statuses=dict(given.status),
                    precisions=given.precisions.split(","), backends=given.backends.split(","),
                    algorithms=given.algorithms.split(","), samples=given.samples, system=given.system, started=given.started)
    with open(given.out, "w") as file:
        json.dump(made, file)


if __name__ == "__main__":
    sys.exit(main())
