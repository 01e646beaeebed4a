"""A result file (results-schema/result.schema.json) of one row that another package's script has timed and verified."""
import json
import math
import os
import pathlib
import platform
import socket
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEAST_FOR_INTERVAL = 6


def quantile(ordered, p):
    below = int(p * (len(ordered) - 1))
    part = p * (len(ordered) - 1) - below
    return ordered[below] if part == 0 else ordered[below] + part * (ordered[below + 1] - ordered[below])


def effective_samples(samples):
    """core/base/statistics.cpp: Geyer's initial monotone sequence of the autocorrelation of the ranks."""
    n = len(samples)
    ordered = sorted(samples)
    x = [(ordered.index(value) + n - 1 - ordered[::-1].index(value)) / 2 - (n - 1) / 2 for value in samples]
    variance = sum(value * value for value in x)
    if n < 4 or variance == 0:
        return float(n)
    tau, before = -1, 2
    for lag in range(0, n - 1, 2):
        pair = min(sum(sum(x[i] * x[i + k] for i in range(n - k)) for k in (lag, lag + 1)) / variance, before)
        if pair <= 0:
            break
        tau, before = tau + 2 * pair, pair
    return min(max(n / max(tau, 1e-300), 1), n)


def interval(ordered, effective):
    """95 % interval of the median, by order statistics of as many independent samples as there are effective ones."""
    n, m = len(ordered), int(effective)
    tail = k = 0
    while k + 1 <= m / 2 and 40 * (tail + math.comb(m, k)) <= 2**m:
        tail, k = tail + math.comb(m, k), k + 1
    place = min(max(math.floor(k * ((n + 1) / (m + 1)) + 1e-9), 1), n) if k else 1
    return [ordered[place - 1], ordered[n - place]]


def time_of(samples, warmup_runs, warmup_s):
    ordered, effective = sorted(samples), effective_samples(samples)
    median = quantile(ordered, 0.5)
    found = {"median": median, "mad": quantile(sorted(abs(s - median) for s in samples), 0.5), "min": ordered[0],
             "p95": quantile(ordered, 0.95), "p99": quantile(ordered, 0.99), "ci95": None, "ci95_reason": None,
             "n": len(samples), "n_effective": effective, "stopped_by": "steps", "batch": 1, "clock_s": None,
             "warmup_runs": warmup_runs, "warmup_s": warmup_s, "waiting": None, "stolen": None, "foreign": None, "own": None}
    if effective >= LEAST_FOR_INTERVAL:
        found["ci95"] = interval(ordered, effective)
    else:
        found["ci95_reason"] = f"{effective:.3g} effective samples, a 95 % interval needs {LEAST_FOR_INTERVAL}"
    return found


def environment(package):
    """The machine as `assay env` describes it, where it is built; the software is the package's. Its hash is unknown:
    nobody says which libraries the package has opened."""
    assay = pathlib.Path(os.environ.get("ASSAY_BIN_DIR", ROOT / "build" / "bin")) / "assay"
    try:
        known = json.loads(subprocess.run([assay, "env"], check=True, stdout=subprocess.PIPE).stdout)
    except OSError:
        known = {"hardware": {"processor": platform.processor() or platform.machine()}, "volatile": {}, "hashes": {"hardware": None},
                 "software": {"os": platform.platform()}}
    software = {key: known["software"][key] for key in ("architecture", "container", "kernel", "os") if key in known["software"]}
    return {"host": socket.gethostname(), "hardware": known["hardware"], "volatile": known["volatile"],
            "software": {**software, "python": platform.python_version(), "libraries": package},
            "hashes": {"hardware": known["hashes"]["hardware"], "software": None}}


def row_of(samples, amounts, **more):
    """`samples`: seconds of the steps; empty where more["status"] is not ok."""
    row = {"names": [], "environment": 0, "launch": 0, "attempt": 0, "required": False, "samples_s": samples, "time_s": None,
           "rates": {}, "ceiling": None, "ceiling_reason": "another package's script measures no ceiling", "energy_j": None,
           "energy_domains_j": None, "energy_reason": "another package's script counts no energy", "baseline": None,
           "baseline_reason": "another package's script knows no baseline", **more}
    row["problem"]["amounts"] = amounts
    if samples:
        warmup = row.pop("warmup")
        row["time_s"] = time_of(samples, len(warmup), sum(warmup))
        row["rates"] = {name: amount / statistics.median(samples) for name, amount in amounts.items()}
    row.pop("warmup", None)
    return row


def document(row, package, command, seed, started, finished):
    # The form names ranks and nodes, if there are some; all other parameters may be left out: a peer makes one row.
    form = row.get("id_form", row["id"])
    row["id_form"] = form + "".join(f"[/{name}]" for name in row["parameters"] if f"{{{name}}}" not in form)
    # A column of `assay table`, where it is a baseline, has this name.
    system = f"{socket.gethostname()} with {next(iter(package))}"
    return {"schema": "assay-result/1", "system": {"name": system}, "environments": [environment(package)], "rows": [row],
            "run": {"id": f"{row['benchmark']}-{started}", "suite": None, "command": command, "seed": seed, "started": started,
                    "finished": finished, "statistics": 1}}
