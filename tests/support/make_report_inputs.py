#!/usr/bin/env python3
"""Inputs with data for every part of a report, made up and valid: make_report_inputs.py FOLDER writes them and prints their names.

Texts that a page must not take for markup are in system names, hosts, reasons and citations."""

import json
import math
import pathlib
import random
import sys

import make_results as synthetic
from make_report_documents import HOSTILE, acceptance, comparison, history, model


def timed(row, seconds, noise, spread=0.002):
    row["samples_s"] = [seconds * math.exp(noise.gauss(0, spread)) for _ in range(12)]
    row["time_s"] = synthetic.time_s(row["samples_s"])
    return row["time_s"]["median"]


def ceilings(document, flops_per_s=3.2e12, bytes_per_s=2.1e11):
    """A machine that reaches 30 to 90 % of its roof; times follow."""
    noise = random.Random("ceilings")
    for row in document["rows"]:
        if row["status"] != "ok":
            continue
        flops = row["problem"]["flops"]
        row["problem"]["bytes"] = bytes_moved = flops / 10 ** noise.uniform(-0.5, 2.5)
        factor = synthetic.SPEED.get(row["parameters"]["precision"], 1)
        roof = min(flops_per_s * factor, bytes_per_s * flops / bytes_moved)
        median = timed(row, flops / (roof * noise.uniform(0.3, 0.9)), noise)
        row["rates"] = {"flops_per_s": flops / median, "bytes_per_s": bytes_moved / median, "algorithmic_flops_per_s": flops / median}
        row["ceiling"] = {
            "flops_per_s": flops_per_s * factor,
            "bytes_per_s": bytes_per_s,
            "fraction": flops / median / roof,
            "bound_by": "compute" if roof < bytes_per_s * flops / bytes_moved else "memory",
        }
        row["ceiling_reason"] = None


def baselines(document, names=(HOSTILE, "other")):
    for i, row in enumerate(document["rows"]):
        if row["status"] != "ok" or i % 2:
            continue
        value = row["time_s"]["median"] * (0.6 + 0.1 * (i % 9))
        row["baseline"] = {
            "system": names[i % 4 // 2],
            "value": value,
            "unit": "s",
            "speedup": value / row["time_s"]["median"],
            "published": i % 4 == 0,
            "citation": f"Table {i % 3 + 1} <i>of a paper</i>" if i % 4 == 0 else None,
            "algorithm": "winograd",
            "note": "another algorithm: winograd there, direct here",
        }
        row["baseline_reason"] = None


def collective_row(collective, transport, precision, size, ranks, nodes, seconds, noise):
    """The form is that of assay-collectives: the size of the message is the problem."""
    settings = {
        "collective": collective,
        "transport": transport,
        "algorithm": "ring",
        "precision": precision,
        "bytes": size,
        "ranks": ranks,
        "nodes": nodes,
    }
    row = synthetic.row("x", 1, [1.0] * 12, precision=precision, algorithm="ring", flops=1, error=synthetic.ERRORS[precision])
    row["id"] = f"collectives/{collective}/{precision}/{transport}/ring/{size}/r{ranks}/n{nodes}"
    row["benchmark"], row["names"], row["parameters"] = "collectives", [], settings
    row["problem"] = {"descriptor": str(size), "flops": None, "bytes": size}
    row["id_form"] = synthetic.id_form(row)
    row["executed"]["algorithmic_flops"] = None
    median = timed(row, seconds, noise)
    passes = 2 if collective == "allreduce" else 1
    row["rates"] = {"algbw": size / median, "busbw": passes * (ranks - 1) / ranks * size / median}
    return row


def collectives(document, alpha=5e-6, beta=1 / 2.4e10):
    noise = random.Random("collectives")
    for collective, transport, precision, faster in (
        ("allreduce", "mpi", "fp32", 1),
        ("allreduce", "mpi", "fp16", 0.9),
        ("allreduce", "shared_memory", "fp32", 0.4),
        ("allgather", "mpi", "fp32", 1),
    ):
        for power in range(10, 27, 2):
            size = 2**power // (2 if precision == "fp16" else 1)
            seconds = (alpha + beta * size) * faster
            document["rows"].append(collective_row(collective, transport, precision, size, 8, 2, seconds, noise))
    for ranks, seconds in ((2, 0.6), (4, 0.8)):
        document["rows"].append(collective_row("allreduce", "mpi", "fp32", 2**26, ranks, 1, seconds * beta * 2**26, noise))


def scaling(document, over="ranks", counts=(1, 2, 4, 8, 16)):
    """The first problem is shared by all; of the second each rank has its own, and waits for the slowest."""
    noise = random.Random(over)
    for number, serial in ((1, 0.02), (2, 0.12)):
        problem, weak = f"mb64{over}{number}", over == "ranks" and number == 2
        for count in counts:
            row = synthetic.row(problem, 1, [1.0] * 12, flops=8e9)
            row["id"] = f"conv/forward/fp32/onednn/direct/{problem}/hot/" + (f"t2/r{count}/n{max(1, count // 4)}" if over == "ranks" else f"t{count}")
            row["names"] = []
            row["parameters"].update({"threads": 2, over: count})
            if over == "ranks":
                row["parameters"]["nodes"] = max(1, count // 4)
                if not weak:
                    row["problem"]["size"] = 64
            row["id_form"] = synthetic.id_form(row)
            median = timed(row, 0.01 * (1 + 0.02 * count if weak else serial + (1 - serial) / count), noise)
            row["problem"]["bytes"] = None
            row["rates"] = {"flops_per_s": 8e9 / median, "algorithmic_flops_per_s": 8e9 / median}
            document["rows"].append(row)


def trainings(document, images=2000, most=20):
    """Trainings to an accuracy with growing batches, each twice: the largest never reaches it."""
    noise = random.Random("trainings")
    for batch, needed in ((32, 4), (64, 7), (128, None)):
        for trial in range(2):
            flops = 15392256 * batch  # of the network's training on an image
            row = synthetic.row("d18w16s32c10", 1, [1.0] * 12, algorithm="auto", direction="training", flops=flops)
            row["id"] = f"resnet50/training/fp32/onednn/auto/d18w16s32c10/b{batch}/trial{trial}"
            row["benchmark"], row["names"] = "resnet50", []
            del row["parameters"]["cache"]
            row["parameters"].update(
                {"batch": batch, "data": f"learnable:n{images}v500", "epochs": most, "target": "0.97", "trial": trial,
                 "unreached": "kept"}
            )
            row["id_form"] = synthetic.id_form(row)
            row["problem"].update({"bytes": None, "global_batch_size": batch})
            median = timed(row, 0.001 * batch, noise)
            row["rates"] = {"flops_per_s": flops / median, "algorithmic_flops_per_s": flops / median, "images_per_s": batch / median}
            last = needed + trial if needed else most
            row["epochs"] = [
                {"epoch": i, "seconds": i * images / batch * median, "accuracy": round((488 if needed else 450) * i / last) / 500}
                for i in range(1, last + 1)
            ]
            end = row["epochs"][-1]
            row["metrics"] = {"accuracy": {"value": end["accuracy"], "unit": "", "better": "higher"}}
            if needed:
                row["metrics"]["epochs"] = {"value": last, "unit": "", "better": "lower"}
                row["metrics"]["time_to_accuracy_s"] = {"value": end["seconds"], "unit": "s", "better": "lower"}
            document["rows"].append(row)


def all_inputs():
    first = synthetic.document(
        rows=48,
        launches=1,
        precisions=("fp32", "bf16", "fp16"),
        system=HOSTILE,
        hosts=("node<b>01</b>",),
        statuses={"mb1c0003/": "incorrect", "mb1c0004/": "unsupported"},
    )
    ceilings(first)
    baselines(first)
    collectives(first)
    scaling(first)
    scaling(first, "threads", (1, 2, 4, 8))
    trainings(first)
    nodes = [
        synthetic.document(
            rows=6,
            launches=1,
            hosts=(f"n{i:02d}",),
            noise_seed=i,
            system="cluster",
            hardware={"memory_bytes": 2**36 if i != 3 else 2**35},
            run={"id": f"node-{i}"},
            slow={"/mb": 1.08} if i == 2 else None,
        )
        for i in range(8)
    ]
    return {
        "machine": first,
        **{f"node-{i}": one for i, one in enumerate(nodes)},
        "comparison": comparison(),
        "model": model(),
        "history": history(),
        "acceptance": acceptance(),
    }


def write(folder, documents=None):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, document in (documents or all_inputs()).items():
        names.append(folder / f"{name}.json")
        names[-1].write_text(json.dumps(document))
    return names


if __name__ == "__main__":
    print("\n".join(map(str, write(sys.argv[1]))))
