#!/usr/bin/env python3
"""The shipped schemas and data against a validator that is not ours: Python's jsonschema (in .deps, scripts/bootstrap).

Also checks that both validators agree on spoilt files, and that the baselines and lists are what scripts/import-published makes.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DEPS = ROOT / ".deps" / "bin" / "python"
try:
    import jsonschema
except ImportError:
    if DEPS.exists() and Path(sys.executable) != DEPS and "ASSAY_REEXECUTED" not in os.environ:
        os.environ["ASSAY_REEXECUTED"] = "1"
        os.execv(DEPS, [str(DEPS), __file__, *sys.argv[1:]])
    sys.exit("test_result_schema: jsonschema is missing (not in .deps). Run scripts/bootstrap.")

SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text())
           for path in sorted((ROOT / "results-schema").glob("*.schema.json"))}
failures = []


def check(condition, message):
    if not condition:
        failures.append(message)


def errors(document, kind):
    return list(jsonschema.Draft7Validator(SCHEMAS[kind]).iter_errors(document))


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def load(path):
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)


def shipped():
    """Schemas are schemas; every baseline, list and suite is valid and refers to each other rightly."""
    for name, schema in SCHEMAS.items():
        jsonschema.Draft7Validator.check_schema(schema)
        check(schema["$schema"] == "http://json-schema.org/draft-07/schema#", name)
    files = [(path, "result") for path in sorted((ROOT / "results-schema" / "baselines").glob("*.json"))]
    files += [(path, "problems") for path in sorted((ROOT / "suites" / "problems").glob("*/*.json"))]
    for path in sorted((ROOT / "suites").glob("*.json")):  # suites and criteria: each says what it is
        files.append((path, str(load(path).get("schema")).split("/")[0].removeprefix("assay-")))
    check(len(files) >= 27, f"only {len(files)} shipped files")
    known = {}
    for path, kind in files:
        document = load(path)
        for error in errors(document, kind)[:3]:
            failures.append(f"{path} at /{'/'.join(map(str, error.absolute_path))}: {error.message}")
        if kind == "problems":
            for one in document["problems"]:
                known[f"{document['name']}/{one['name']}"] = document.get("defaults", "") + one["descriptor"]
        check(kind in ("suite", "criteria") or path.stem in document.get("name", document.get("system", {}).get("name", "")), f"{path}: its name")
    for path, kind in files:
        if kind == "result":
            for row in load(path)["rows"]:
                for name in row["names"]:
                    check(known.get(name) == row["problem"]["descriptor"], f"{path}: {name} is {known.get(name)}")
    size = sum(path.stat().st_size for path, kind in files if kind == "result")
    check(size < 9e6, f"the baselines have {size} bytes")


MEASURED = {
    "id": "conv/forward/fp32/onednn/direct/p/hot/t2",
    "id_form": "conv/{direction}/{precision}/{backend}/{algorithm}/{problem}/{cache}/t{threads}[/target]", "names": [], "benchmark": "conv", "problem": {"descriptor": "p"}, "environment": 0,
    "launch": 0, "attempt": 0, "required": False, "parameters": {"direction": "forward", "precision": "fp32", "backend": "onednn", "algorithm": "direct", "cache": "hot", "threads": 2},
    "executed": {"algorithm": "direct", "evidence": "library"}, "status": "ok", "reason": None,
    "verification": {"passed": True, "reference": "fp64", "max_error": 0.0, "norm_error": 0.0, "bound": 1e-6},
    "setup_s": {}, "samples_s": [0.5], "time_s": {"median": 0.5, "mad": 0.0, "min": 0.5, "p95": 0.5, "p99": 0.5, "ci95": None,
                                                  "ci95_reason": "1 effective sample", "n": 1,
                                                  "n_effective": 1.0, "stopped_by": "slow"},
    "rates": {}, "ceiling": None, "ceiling_reason": "x", "energy_j": None, "energy_reason": "x", "baseline": None,
}
DOCUMENT = {
    "schema": "assay-result/1",
    "run": {"id": "r", "suite": None, "command": "c", "seed": 1, "started": "2026-11-21T00:00:00.000Z", "finished": None},
    "system": {"name": "s"},
    "environments": [{"host": "h", "hardware": {}, "software": {}, "volatile": {}, "hashes": {"hardware": None, "software": None}}],
    "rows": [MEASURED],
}


MISSED = {"status": "target missed", "reason": "x", "time_s": None, "samples_s": [],
          "parameters": dict(MEASURED["parameters"], target="0.9")}


def spoilt():
    """(name, document, valid): DOCUMENT changed in one place."""
    yield "as it is", DOCUMENT, True
    for key in MEASURED:
        document = copy.deepcopy(DOCUMENT)
        del document["rows"][0][key]
        yield f"row without {key}", document, key in ("ceiling_reason", "energy_reason")
    for key in DOCUMENT:
        document = copy.deepcopy(DOCUMENT)
        del document[key]
        yield f"without {key}", document, False
    changes = {
        "status good": {"status": "good"}, "ok unverified": {"verification": None}, "ok without time": {"time_s": None},
        "ok without samples": {"samples_s": []}, "ok with reason": {"reason": "x"}, "negative sample": {"samples_s": [-1.0]},
        "not passed": {"verification": dict(MEASURED["verification"], passed=False)}, "unknown field": {"extra": 1},
        "published without source": {"published": True}, "failed with time": {"status": "failed", "reason": "x"},
        "text launch": {"launch": "0"}, "no interval": {"time_s": dict(MEASURED["time_s"], ci95_reason=None)},
        "interval of one": {"time_s": dict(MEASURED["time_s"], ci95=[0.5])},
        "unknown time": {"time_s": dict(MEASURED["time_s"], mean=1)}, "evidence": {"executed": {"algorithm": None, "evidence": "guess"}},
        "incorrect unverified": {"status": "incorrect", "reason": "x", "time_s": None, "samples_s": [], "verification": None},
        "target missed unverified": dict(MISSED, verification=None),
        "target missed and wrong": dict(MISSED, verification=dict(MEASURED["verification"], passed=False)),
        "target missed with a rate": dict(MISSED, rates={"images_per_s": 1}), "target missed without one": dict(MISSED, parameters=MEASURED["parameters"]),
        "failed without reason": {"status": "failed", "time_s": None, "samples_s": []},
        "failed with empty reason": {"status": "failed", "reason": "", "time_s": None, "samples_s": []},
        "energy of nothing": {"energy_j": 1.0, "energy_reason": None}, "energy and why none": {"energy_j": 1.0, "energy_domains_j": {"gpu 0": 1.0}},
        "no energy": {"energy_j": 0, "energy_domains_j": {"gpu 0": 0}, "energy_reason": None},
        "parts of nothing": {"energy_domains_j": {"gpu 0": 1.0}},
        "failed with energy": {"status": "failed", "reason": "x", "time_s": None, "samples_s": [], "energy_j": 1.0,
                               "energy_domains_j": {"gpu 0": 1.0}, "energy_reason": None},
        "failed with rate": {"status": "failed", "reason": "x", "time_s": None, "samples_s": [], "rates": {"flops_per_s": 1}},
    }
    for name, change in changes.items():
        document = copy.deepcopy(DOCUMENT)
        document["rows"][0].update(change)
        yield name, document, False
    document = copy.deepcopy(DOCUMENT)
    document["rows"][0].update({"energy_j": 1.5, "energy_domains_j": {"package-0": 1.0, "package-0/dram": 0.5}, "energy_reason": None})
    yield "energy", document, True
    for name, change in {"empty hardware hash": {"hardware": ""}, "empty software hash": {"software": ""}}.items():
        document = copy.deepcopy(DOCUMENT)
        document["environments"][0]["hashes"].update(change)
        yield name, document, False
    for name, change, valid in (("statistics 0", {"statistics": 0}, False), ("statistics 1", {"statistics": 1}, True),
                                ("statistics 2", {"statistics": 2}, True), ("empty suite hash", {"suite_hash": ""}, False)):
        document = copy.deepcopy(DOCUMENT)
        document["run"].update(change)
        yield name, document, valid
    good = {
        "failed": {"status": "failed", "reason": "x", "time_s": None, "samples_s": []},
        "unsupported": {"status": "unsupported", "reason": "x", "time_s": None, "samples_s": [], "verification": None, "executed": None},
        "incorrect": {"status": "incorrect", "reason": "x", "time_s": None, "samples_s": [],
                      "verification": dict(MEASURED["verification"], passed=False, max_error=None)},
        "target missed": MISSED,
    }
    for name, change in good.items():
        document = copy.deepcopy(DOCUMENT)
        document["rows"][0].update(change)
        yield name, document, True


def agreement(binaries):
    """Python's verdict is the expected one, and `assay validate` gives the same."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, document, valid) in enumerate(spoilt()):
            check((not errors(document, "result")) == valid, f"{name}: jsonschema says {'invalid' if valid else 'valid'}")
            if binaries:
                file = Path(folder) / f"{number}.json"
                file.write_text(json.dumps(document))
                run = subprocess.run([binaries / "assay", "validate", file], capture_output=True, text=True, timeout=60)
                check(run.returncode == (0 if valid else 2), f"{name}: assay validate exits {run.returncode}: {run.stderr}")
                check(valid or str(file) in run.stderr + run.stdout, f"{name}: the message does not name the file: {run.stderr}")


def generated(binaries):
    """A result that a benchmark writes is valid for a validator that we did not write."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.json"
        run = subprocess.run([binaries / "assay-conv", "--problem", "mb1ic8ih8oc8oh8kh3ph1", "--backend", "reference,onednn", "--algorithm",
                              "auto,winograd", "--precision", "fp32,fp16", "--direction", "forward,bwd_data", "--max-time", "0.05",
                              "--baseline", "deepbench-v100", "--out", file], capture_output=True, text=True, timeout=300)
        check(run.returncode in (0, 7), f"assay-conv exits {run.returncode}: {run.stderr}")
        if not file.exists():
            failures.append(f"assay-conv wrote no file: {run.stderr}")
            return
        document = load(file)
        check(len(document["rows"]) > 0, "the generated result has no rows")
        alone = [row for row in document["rows"] if row["status"] == "ok" and row["time_s"]["ci95"] is None]
        check(run.stdout.count("no interval") == len(alone), f"{len(alone)} rows have no interval, stdout says: {run.stdout}")
        check(any(row["status"] == "ok" for row in document["rows"]), "no generated row is ok")
        for error in errors(document, "result")[:5]:
            failures.append(f"generated result at /{'/'.join(map(str, error.absolute_path))}: {error.message}")


def importer():
    """scripts/import-published makes what is committed, where its input is at hand."""
    data = Path(os.environ.get("ASSAY_PUBLIC_DATA", ROOT.parent / "shared" / "data"))
    if not (data / "published-results.json").exists():
        print("scripts/import-published: not run (no public data; ASSAY_PUBLIC_DATA names its folder)")
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "scripts" / "import-published", data, "--root", folder], check=True, capture_output=True, timeout=120)
        made = sorted(path.relative_to(folder) for path in Path(folder).rglob("*.json"))
        check(len(made) == 37, f"import-published made {len(made)} files")
        for path in made:
            check((ROOT / path).read_bytes() == (Path(folder) / path).read_bytes(), f"{path} is not what import-published makes")


def main():
    binaries = Path(os.environ["ASSAY_BIN_DIR"]) if "ASSAY_BIN_DIR" in os.environ else None
    shipped()
    agreement(binaries)
    if binaries:
        generated(binaries)
    else:
        print("no programs (ASSAY_BIN_DIR is not set): only files were checked")
    importer()
    for failure in failures[:20]:
        print("FAILED:", failure)
    print(f"test_result_schema: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
