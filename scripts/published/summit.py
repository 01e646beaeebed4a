"""Summit and SummitDev: the CORAL-2 analytics (Power9, Power8) and deep-learning (Volta, Pascal) walltimes of J. Yin's slides."""
import sys

from .common import YIN, environment, result, row, write
from .conv import ALGORITHMS, conv_descriptor, conv_flops
from .rnn import rnn_descriptor

ANALYTICS_SOURCE = YIN.citation + "; CORAL-2 Big Data Analytics Suite (pbdR), performance model for BDAS"
DL_SOURCE = YIN.citation + "; CORAL-2 Deep Learning Suite, table of walltimes"
CORES = {"Power9": 42, "Power8": 20}

# Columns of Power9 and rows of Power8 as printed: walltimes by SMT, and the (threads per rank, ranks) layouts where the text has them.
# The SMT cell of Power8's second rows is lost (the size stands in its place); the order of the rows says 2.
ANALYTICS = [  # workload, benchmark, size in GB, Power9 SMT 1 2 4, their layouts, Power8 SMT 1 2 4 8, their layouts
    ("PCA", "pca", 8, "1.9 2.1 2.4", (None, (2, 42), (4, 42)), "6.8 3.6 3.7 4", (None, None, (2, 40), (4, 40))),
    ("PCA", "pca", 64, "13 12.2 13.5", (None, (1, 84), (2, 84)), "53.1 28.2 24.8 25.9", (None, None, (1, 80), (2, 80))),
    ("K-means", "kmeans", 8, "3.1 3 3", (None, (2, 42), (4, 42)), "4.7 4.8 4.8 4.9", (None, None, (4, 20), (8, 20))),
    ("K-means", "kmeans", 64, "26.2 26.5 26.6", (None, (2, 42), (4, 42)), "72.8 49.2 35.3 35.8", (None, None, (1, 80), (2, 80))),
    ("SVM", "svm", 8, "- 16.7 16.7", (None, (2, 42), (4, 42)), "34.6 33.1 34.7 37.5", (None, None, (2, 40), (2, 80))),
    ("SVM", "svm", 64, None, (None, None, None), "286.6 285.7 283.1 291.5", (None, None, (1, 80), (1, 160))),
]
# Power8 / Power9 as printed, a line for each time of Power8, a column for each of Power9's. SVM's stand in the column of SMT 1 alone,
# whose own cell is damaged: they give 16.7 for it.
RATIOS = {
    ("PCA", 8): ["3.58 3.24 2.83", "1.89 1.71 1.50", "1.95 1.76 1.54", "2.11 1.90 1.67"],
    ("PCA", 64): ["4.08 4.35 3.93", "2.17 2.31 2.09", "1.91 2.03 1.84", "1.99 2.12 1.92"],
    ("K-means", 8): ["1.52 1.57 1.57", "1.55 1.60 1.60", "1.55 1.60 1.60", "1.58 1.63 1.63"],
    ("K-means", 64): ["2.78 2.75 2.74", "1.88 1.86 1.85", "1.35 1.33 1.33", "1.37 1.35 1.35"],
    ("SVM", 8): ["2.07 - -", "1.98 - -", "2.08 - -", "2.25 - -"],
}
SMT = {"Power9": (1, 2, 4), "Power8": (1, 2, 4, 8)}
DAMAGED_TIME = "16.7"  # that all four ratios of its column ask for
DAMAGED = f"the cell is damaged in the text: it reads 1; the ratios of its column ask for {DAMAGED_TIME}"
# The slides name neither the direction nor the state of the caches nor the nodes of its convolutions.
OUR_READING = "forward, hot and one node are our reading: the source says none of them"

# problem, benchmark, workload, implementation, Volta, Pascal (s), ratio as printed; all fp16. The fp32 cells are empty.
DL = [
    ("WINOGRAD_NONFUSED", "conv", "CNN", "input 112×112×64, N16, filter 3×3×128", "2.99", "5.1", "1.71"),
    ("IMPLICIT_PRECOMP_GEMM", "conv", "CNN", "input 112×112×64, N8, filter 3×3×128", "1.98", "3.1", "1.57"),
    ("LSTM", "rnn", "RNN", "1024-64-25 (hidden-batch-steps)", "5.1", "7.4", "1.45"),
    ("GRU", "rnn", "RNN", "1024-64-1500", "227.98", "359.5", "1.58"),
    ("NCCL", "allreduce", "Comm", "100000 floats, 4 nodes", "0.33", "0.3", "1.27"),
    ("MPI", "allreduce", "Comm", "100000 floats, 4 nodes", "0.46", "0.9", "1.91"),
]
CORAL2_CONV = [("winograd", "WINOGRAD_NONFUSED", 16), ("implicit_gemm", "IMPLICIT_PRECOMP_GEMM", 8)]  # names of the problem list
CONV_SHAPE = {"ic": 64, "ih": 112, "iw": 112, "oc": 128, "kh": 3, "kw": 3, "sh": 1, "sw": 1, "ph": 1, "pw": 1}
RNN_SHAPES = {"LSTM": {"cell": "lstm", "hidden": 1024, "batch": 64, "steps": 25},
              "GRU": {"cell": "gru", "hidden": 1024, "batch": 64, "steps": 1500}}

SYSTEMS = [  # name, host, CPU, its architecture, GPU, its architecture
    ("summit", "Summit (IBM Power System AC922)", "IBM Power9", "Power9", "NVIDIA Tesla V100 (Volta)", "Volta"),
    ("summitdev", "SummitDev (IBM Power System S822LC)", "IBM Power8", "Power8", "NVIDIA Tesla P100 (Pascal)", "Pascal"),
]
TAKEAWAYS = [
    ("analytics: per node ~2x over SummitDev, up to ~35x over Titan", ("~2x over SummitDev, up to ~35x over Titan",)),
    ("deep learning: per node ~2.5x over SummitDev, up to ~80x over Titan; CNN ~60x and RNN ~20x over Titan on average",
     ("2.5x$ over Summit-Dev, up to $\\sim 80x$ over Titan", "60x$ for CNN workloads, $\\sim 20x$ for RNN workloads")),
    ("communication: ~1.5x over SummitDev", ("1.5x$ in communication over Summit-Dev",)),
    ("ResNet-50 (Keras on TensorFlow, Horovod): near-ideal scaling to 64 nodes", ("up to 64 nodes for Resnet50 on ImageNet",)),
]


def check(sources):
    """Every constant above stands on the page or in the slides; what follows from another is recomputed."""
    for workload, _, size, power9, layouts9, power8, layouts8 in ANALYTICS:
        cells = {"-": "16.7 (SMT 2 and 4; the SMT1 cell is damaged in the text)", None: "not given"}.get(
            power9 and power9.split()[0], power9 and power9.replace(" ", " / "))
        sources.on_page(f"| {workload} | {size} GB | {cells} | {power8.replace(' ', ' / ')} |")
        for architecture, layouts in (("Power9", layouts9), ("Power8", layouts8)):
            for smt, layout in zip(SMT[architecture], layouts):
                # A layout fills the hardware threads of one node: a damaged one would not.
                assert layout is None or layout[0] * layout[1] == CORES[architecture] * smt, (workload, size, smt)
        for place, (seconds, layout) in enumerate(zip(power8.split(), layouts8)):
            label = [f"{SMT['Power8'][place]}({layout[0]} {layout[1]})"] if layout else []
            ratios = [f"{ratio}x" for ratio in RATIOS.get((workload, size), ["-"] * 4)[place].split() if ratio != "-"]
            sources.row_in_document(YIN, *label, seconds, *ratios)
        if power9:
            for line, mine in zip(RATIOS[workload, size], power8.split()):
                for printed, theirs in zip(line.split(), power9.split()):
                    time = DAMAGED_TIME if theirs == "-" else theirs
                    assert printed == "-" or printed == f"{float(mine) / float(time):.2f}", (workload, size, mine, time)
    headed = [f"{smt}({layout[0]} {layout[1]})" if layout else str(smt) for *_, power9, layouts, _, _ in ANALYTICS if power9
              for smt, layout in zip(SMT["Power9"], layouts)]
    sources.row_in_document(YIN, *headed)
    times = " ".join(power9.replace("-", "1") for *_, power9, _, _, _ in ANALYTICS if power9)
    sources.row_in_document(YIN, *times.split())
    check_columns(sources)
    for implementation, _, workload, problem, volta, pascal, ratio in DL:
        digits = f"{pascal} (one digit)" if workload == "Comm" else pascal
        label = implementation if workload == "RNN" else f"{'CNN' if workload == 'CNN' else 'allreduce'} {implementation}"
        sources.on_page(f"| {label} | {problem} | {volta} | {digits} | {ratio}× |")
        sources.row_in_document(YIN, "fp16", pascal, f"{ratio}x")
    for _, texts in TAKEAWAYS:
        sources.in_document(YIN, *texts)
    sources.on_page("Model: log(Perf) = Architecture + Size + Workload + Threads")


def check_columns(sources):
    """Each ratio stands in the column of the Power9 time that it is over; a row of Power8 has one label more before its cells."""
    times = " ".join(power9.replace("-", "1") for *_, power9, _, _, _ in ANALYTICS if power9).split()
    columns = iter(sources.columns_in_document(YIN, *times))
    for workload, _, size, power9, _, power8, layouts in ANALYTICS:
        if not power9:
            continue
        own = [next(columns, None) for _ in power9.split()]
        for place, (seconds, layout, line) in enumerate(zip(power8.split(), layouts, RATIOS[workload, size])):
            printed = line.split()
            label = [f"{SMT['Power8'][place]}({layout[0]} {layout[1]})"] if layout else []
            found = sources.columns_in_document(YIN, *label, seconds, *(f"{ratio}x" for ratio in printed if ratio != "-"))
            expected = [column + 1 for column, ratio in zip(own, printed) if ratio != "-"] if found else []
            if found[len(label) + 1:] != expected:
                sys.exit(f"'{YIN.citation}': the ratios of {workload} {size} GB, {seconds} s, stand in another column")


# The suite's K-means times the calls for k = 2, 3 and 4, and tells their sum.
DEFINED = {"kmeans": {"clusters": "2+3+4"}}


def analytics_rows(name, architecture):
    mine = 3 if architecture == "Power9" else 5
    for analysis in ANALYTICS:
        workload, benchmark, size = analysis[:3]
        texts = analysis[mine].split() if analysis[mine] else [None] * 3
        for place, (smt, text, layout) in enumerate(zip(SMT[architecture], texts, analysis[mine + 1])):
            missing = "the source gives no number" if text is None else DAMAGED if text == "-" else None
            notes = [] if layout else [f"(thread rank) layout of SMT {smt} not legible"]
            if architecture == "Power8" and smt == 2:
                notes = ["SMT and (thread rank) cell lost in the text: SMT 2 by the order of the rows"]
            ratios = [{"system": "summit", "row": f"{benchmark}/{size}GB/smt{other}", "text": f"{printed}x", "value": float(printed)}
                      for other, printed in zip(SMT["Power9"], RATIOS.get((workload, size), ["-"] * 4)[place].split())
                      if printed != "-"] if architecture == "Power8" else None
            yield row(f"{benchmark}/{size}GB/smt{smt}", benchmark, {"descriptor": f"{size}GB", "size": size * 10**9},
                      {"workload": workload, "architecture": architecture, "smt": smt, "threads": layout and layout[0],
                       "ranks": layout and layout[1], **DEFINED.get(benchmark, {})},
                      ANALYTICS_SOURCE, "" if text is None else "1" if text == "-" else text, "s",
                      None if missing else float(text), seconds=None if missing else float(text), why_none=missing,
                      note="; ".join(["walltime"] + notes), executed={"implementation": "pbdR"}, ratios=ratios)


def dl_rows(name, architecture):
    for implementation, benchmark, workload, _, volta, pascal, ratio in DL:
        text = volta if architecture == "Volta" else pascal
        algorithm = ALGORITHMS.get(implementation, implementation.lower())
        parameters = {"precision": "fp16", "algorithm": algorithm, "workload": workload, "architecture": architecture, "nodes": 1}
        names, note = [], "walltime of an unknown number of iterations"
        if benchmark == "conv":
            label, _, batch = next(entry for entry in CORAL2_CONV if entry[1] == implementation)
            shape = dict(CONV_SHAPE, mb=batch)
            descriptor = conv_descriptor(shape)
            problem, names = {"descriptor": descriptor, "flops": conv_flops(shape)}, [f"coral2/{label}"]
            parameters = dict({"direction": "forward"}, **parameters, backend="cudnn", cache="hot", ranks=1)
            id = f"conv/forward/fp16/cudnn/{algorithm}/{descriptor}/hot"
            note += f"; {OUR_READING}"
        elif benchmark == "rnn":
            shape = RNN_SHAPES[implementation]
            descriptor = rnn_descriptor(shape)
            problem = {"descriptor": descriptor, **{name: shape[name] for name in ("hidden", "batch", "steps")}}
            names = [f"coral2/{algorithm}"]
            parameters = dict({"direction": None, "input": None}, **parameters)  # the source gives neither
            id = f"rnn/fp16/{descriptor}"
        else:
            problem = {"descriptor": "100000", "elements": 100000}
            parameters.update(transport=algorithm, ranks=None, nodes=4)
            id = f"allreduce/fp16/{algorithm}/100000/nodes4"
            if architecture == "Pascal":
                note += "; one digit is printed, and the printed ratio does not follow from it"
        other = None
        if architecture == "Pascal":
            other = [{"system": "summit", "row": id, "text": f"{ratio}x", "value": float(ratio)}]
        yield row(id, benchmark, problem, parameters, DL_SOURCE, text, "s", float(text), seconds=float(text), note=note, environment=1,
                  executed={"algorithm": algorithm, "implementation": implementation, "storage": "fp16", "compute": None,
                            "accumulate": None},
                  names=names, ratios=other,
                  # Only the ratio of the two systems means anything: a time of one run cannot be had from it.
                  incomparable="iteration count not published", comparable_within=DL_SOURCE)


def baselines(folder, sources):
    check(sources)
    for name, host, cpu, cpu_architecture, gpu, gpu_architecture in SYSTEMS:
        rows = [*analytics_rows(name, cpu_architecture), *dl_rows(name, gpu_architecture)]
        environments = [environment(cpu, host, "R, pbdR; versions not published"), environment(gpu, host, "not published")]
        system = {"description": f"{host}: CORAL-2 analytics on {cpu}, deep learning on {gpu}"}
        if name == "summit":
            system["takeaways"] = [text for text, _ in TAKEAWAYS]
        write(folder / f"{name}.json", result(name, f"coral2-{name}", environments, rows, system))
