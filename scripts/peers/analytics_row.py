"""The row of one of scikit-learn's analyses in a result file, beside those of assay-pca, assay-kmeans and assay-svm."""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import shlex
import sys
import time
import uuid

import result_file

# The names are those of Assay's programs and of scikit-learn.
ALGORITHMS = {"pca": ("gram", "covariance_eigh"), "kmeans": ("lloyd", "lloyd"), "svm": ("coordinate_descent", "liblinear")}
PIECE = 1 << 22


def uuid_of(namespace, content):
    """Version 5 of RFC 9562, of any bytes (until Python 3.12 uuid.uuid5 takes text alone)."""
    return str(uuid.UUID(bytes=hashlib.sha1(namespace.bytes + content).digest()[:16], version=5))


def content_hash(kind, content):
    """core/base/hash.cpp."""
    return uuid_of(uuid.NAMESPACE_URL, f"assay:{kind}:{json.dumps(content, separators=(',', ':'))}".encode())


def file_hash(path):
    """DataFile::content_hash() of datasets/data_file.cpp."""
    pieces = []
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            pieces.append(uuid_of(uuid.NAMESPACE_OID, piece))
    return content_hash("data", pieces)


def table_name(data, labels, shape):
    """The name that Assay's programs give the same table (FileTable::canonical() of datasets/file_table.cpp), so that
    rows of both are of one problem."""
    name = re.sub(rb"[^A-Za-z0-9.-]", b"_", os.fsencode(pathlib.Path(data).name)).decode()  # byte by byte
    whole = content_hash("table", [file_hash(data), file_hash(labels) if labels else ""])
    return f"{name}:n{shape[0]}d{shape[1]}:{whole[-12:]}"


def lower_bound(text):
    """A number, or a result file of assay-svm: the objective of its row less the duality gap."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        metrics = json.loads(pathlib.Path(text).read_text())["rows"][0]["metrics"]
        return metrics["objective"]["value"] * (1 - metrics["duality_gap"]["value"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{text} is neither a number nor a result file of assay-svm") from error


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def metric(value, better=None):
    return {"value": value, "unit": "", "better": better}


def head_of(args, shape, dtype):
    """The fields of a row that are known before anything ran."""
    backend = "sklearnex" if args.intelex else "scikit-learn"
    descriptor, data = f"n{shape[0]}d{shape[1]}", table_name(args.data, args.labels, shape)
    precision = {"float64": "fp64", "float32": "fp32"}[str(dtype)]
    algorithm, executed = ALGORITHMS[args.analysis]
    parameters = {"algorithm": algorithm, "allocator": "system", "backend": backend, "blas": "auto", "conform": "none", "data": data,
                  "device": "cpu", "nodes": 1, "part": "whole", "precision": precision, "ranks": 1, "scale": 1, "threads": args.threads}
    counts = quality = ""
    if args.analysis == "kmeans":
        parameters.update(clusters=len(args.start.split(",")), iterations=args.iterations, start="random", until_moved="none")
        counts = f"k{parameters['clusters']}/i{args.iterations}/"
    if args.analysis == "svm":
        parameters.update(cost=1, evaluations="auto", gap=f"{args.quality:g}")
        quality = "" if args.quality == 0.001 else f"/gap={args.quality:g}"  # an id omits the usual value
    return {"id": f"{args.analysis}/{algorithm}/{counts}{precision}/{backend}/{data}/{descriptor}/r1/n1/t{args.threads}{quality}",
            "benchmark": args.analysis, "parameters": parameters,
            "problem": {"descriptor": descriptor, "flops": None, "bytes": None, "n": shape[0], "d": shape[1],
                        "size": shape[0] * shape[1] * dtype.itemsize},
            "executed": {"algorithm": executed, "implementation": None, "storage": precision, "compute": None,
                         "accumulate": None, "layout": "rows", "workspace_bytes": None, "evidence": "requested"}}


def write(args, table, package, measure):
    """Times `measure`, which returns a function that gives seconds and what is known of its result, and writes a file of one row. An
    exception of either that has an attribute `status` makes the row so, without times, and is raised again."""
    started, begin = now(), time.perf_counter()
    row = head_of(args, table.shape, table.dtype)
    row["executed"]["implementation"] = " ".join(package)
    more = {"status": "failed", "samples_s": []}
    error = None
    try:
        run, told = measure()
        verification = {"passed": True, "reference": told["reference"], "max_error": told["error"], "norm_error": told["error"],
                        "bound": told["bound"], "error_over_bound": told["error"] / told["bound"], "reason": None}
        warmup = [run()]
        created = time.perf_counter() - begin
        more.update(status="ok", reason=None, warmup=warmup, verification=verification, samples_s=[run() for _ in range(args.runs)],
                    metrics=told["metrics"], note=(told["note"] + ". " if "note" in told else "") + "Contention for the processors was not watched.")
    except Exception as raised:
        if not hasattr(raised, "status"):
            raise
        error, created = raised, time.perf_counter() - begin
        more.update(status=error.status, reason=str(error), verification=None if error.status == "failed" else {
            "passed": False, "reference": "numpy in fp64", "max_error": None, "norm_error": None, "bound": None, "reason": str(error)})
    more["setup_s"] = {"create": created}
    samples = more.pop("samples_s")
    made = result_file.row_of(samples, {"input_bytes_per_s": row["problem"]["size"]}, **row, **more)
    document = result_file.document(made, {package[0]: {"version": package[1]}}, shlex.join(sys.argv), 1, started, now())
    pathlib.Path(args.out).write_text(json.dumps(document, indent=1) + "\n")
    if error:
        raise error
