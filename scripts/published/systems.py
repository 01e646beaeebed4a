"""Titan, Fugaku, ResNet-50 on GPUs and CPUs, the ImageNet records, the exascale record on Summit."""
import json

from .common import PRABHAT, SATO, YIN, cited, environment, result, row, write

TOP500 = ("E. Strohmaier, J. Dongarra, H. Simon and M. Meuer, TOP500 list (HPL of Supercomputer Fugaku), November 2020, "
          "https://top500.org/lists/top500/2020/11/")
EXAFLOP = "T. Kurth et al., Exascale Deep Learning for Climate Analytics, SC18, November 2018, arXiv:1810.01993, doi:10.1109/SC.2018.00054"
RECORDS_SOURCE = YIN.citation + "; table 1 of State-of-the-art ImageNet training"
# ResNet-50 on one A64FX node, images/s: as it is, with oneDNN for aarch64, and with tcmalloc as well; the factors printed beside the bars.
# The labels run together in the text of the chart: the factors put them in order.
FUGAKU_STAGES = [  # direction, framework, images/s, factors, batch and its text, how the page says that it follows
    ("training", "PyTorch 1.5.0", "25.1 81.0 98.7", ("3.2", "1.2"), None, None, "×3.2, ×1.2"),
    ("inference", "PyTorch 1.5.0", "99.1 323.6 384.5", ("3.3", "1.2"), 2048, "512 x 4", "×3.3, ×1.2"),
    ("training", "TensorFlow 2.1.0", "9.3 85.6 86.9", ("9.2", "1.0"), 244, "61 x 4", "×9.2, ×1.0"),
    ("inference", "TensorFlow 2.1.0", "7.7 293.1 294.8", (None, "1.0"), 512, "128 x 4", "the third factor is ×1.0"),
]


def write_system(folder, name, description, rows, environments):
    write(folder / f"{name}.json", result(name, f"published-{name}", environments, rows, {"description": description}))


# Settings that the procurement's suite prescribes beside data and size, and its page tells.
CORAL2 = {"kmeans": {"clusters": "2+3+4", "iterations": 2}, "svm": {"evaluations": 500}}


def titan(folder, sources, data):
    sources.on_page("K-means 1.8, PCA 6.0, SVM 0.24 TB/s", "128-node jobs, 250 columns, ≥ 1 TB")
    found = [figure for figure in json.loads((data / "published-results.json").read_text()) if figure["system"] == "Titan (OLCF)"]
    rows = []
    for figure in found:
        benchmark = figure["benchmark"].split("/")[1]
        problem = {"descriptor": "1024GB", "size": 1024 * 10**9, "columns": 250}  # as the lists coral2 name it
        workload = {"pca": "PCA", "kmeans": "K-means", "svm": "SVM"}.get(benchmark)
        parameters = {"precision": figure["precision"], "workload": workload, "architecture": "Titan", "ranks": None, "nodes": 128,
                      **CORAL2.get(benchmark, {})}
        if figure["metric"] == "FOM":
            assert figure["unit"] == "TB/s", figure
            rate = float(f"{figure['value'] * 1e12:.12g}")
            # The figure is of the whole ensemble: with the node count of one job it would be taken for 146 times a job's rate.
            rows.append(row(f"{benchmark}/1024GB/fp64/fom", benchmark, problem, dict(parameters, nodes=146 * 128, conform="coral2"),
                            cited(figure["source"]), str(figure["value"]), "TB/s", figure["value"],
                            rates={"figure_of_merit": rate}, projection=figure["note"].removeprefix("projected baseline: "),
                            note=f"{figure['definition']}. {figure['note']}. {figure['problem']}"))
        elif figure["unit"] == "s":
            rows.append(row(f"{benchmark}/1024GB/fp64/job", benchmark, problem, parameters, cited(figure["source"]),
                            str(figure["value"]), "s", figure["value"], seconds=figure["value"], note=figure["note"]))
        else:  # the improvement that the procurement expected is no result
            assert figure["metric"] == "target_improvement", figure
    assert [figure["rates"].get("figure_of_merit") for figure in rows] == [1.8e12, 6e12, 2.4e11, None], rows
    write_system(folder, "titan", "Titan (OLCF, Cray XK7): figures of merit of the CORAL-2 analytics, projected to the whole machine", rows,
                 [environment("AMD Opteron 6274", "Titan (Cray XK7)", found[0]["software"])])


def resnet50(direction, precision, framework, text, images, citation, nodes=1, *, batch=None, batch_printed=None, variant="",
             parameters=None, **more):
    """images/s of ResNet-50; precision None where the source gives none."""
    problem = {"descriptor": "resnet50-imagenet"}
    if batch:
        problem["global_batch_size"] = batch
    if batch_printed:
        problem["batch_printed"] = batch_printed
    parts = ["resnet50", direction, precision or "precision-not-given", framework.split()[0].lower() if framework else "any",
             f"nodes{nodes}"]
    return row("/".join(parts) + variant, "resnet50", problem,
               dict({"direction": direction, "precision": precision, "framework": framework, "workload": "ResNet-50", "emulate": "none", "nodes": nodes},
                    **(parameters or {})),
               citation, text, "images/s", images, rates={"images_per_s": images} if images else None, **more)


def fugaku(folder, sources):
    sources.on_page(
        "| 4 / 8 nodes, training (Horovod) | 390.7 / 781.5 | 330.1 / 651.5 (×7.61) |",
        "48 cores, 2.7 TFLOP/s fp64, 1024 GB/s HBM2 (STREAM triad 80 %, DGEMM 90 % of peak)", "Fugaku: 442,010 TFLOP/s HPL")
    sources.in_document(SATO, "x3.225.1x1.281.0", "98.7", "99.1x3.3x1.2384.5", "323.60 x1.0", "x9.2*4 9.3", "86.9*4", "aarch64 7.7",
                        "294.8 *5293.1", "390.7651.5", "781.5/98.2", "330.146", "651.5/85.6 7.61",
                        "*4: Batch Size 61 x 4", "*5: Batch Size 128 x 4", "*3: Batch Size 512 x 4", "DP performance 2.7 TFLOPS, 90%@DGEMM",
                        "1024 GB/s, 80%@STREAM Triad", "*1: Batch Size 36 x 4*2: Batch Size 75 x 4")
    pytorch, tensorflow = "PyTorch 1.5.0", "TensorFlow 2.1.0"

    def node(direction, framework, text, images, **more):
        return resnet50(direction, "fp32", framework, text, images, SATO.citation,
                        parameters={"architecture": "A64FX", "tuning": more.pop("tuning", "tuned"), "ranks": None}, **more)

    torch_batch = "batch 36 x 4 or 75 x 4: which mark belongs to which bar is not legible"
    rows = []
    for direction, framework, values, factors, batch, batch_printed, why in FUGAKU_STAGES:
        texts = values.split()
        shown = [text + (" (98.2 in the scaling plot)" if text == "98.7" else "") for text in texts]
        sources.on_page(f"| {framework}, {direction} | {' | '.join(shown)} | {why} |")
        for before, after, factor in zip(texts, texts[1:], factors):
            assert factor is None or factor == f"{float(after) / float(before):.1f}", (direction, framework, factor)
        follows = "".join(f", x{factor} is {text}" for factor, text in zip(factors, texts[1:])) if factors[0] else None
        note = "placed by arithmetic, for the labels of the bars run together in the text: " + (
            texts[0] + follows if follows else f"{texts[1]} x{factors[1]} is {texts[2]}, and {texts[0]} is what is left")
        if not batch:
            note += f"; {torch_batch}"
        for text, tuning, variant in zip(texts, ("untuned", "oneDNN aarch64", "tuned"), ("/untuned", "/onednn", "")):
            rows.append(node(direction, framework, text, float(text), tuning=tuning, variant=variant, batch=batch,
                             batch_printed=batch_printed,
                             note=note + ("; the scaling plot has it for one node" if text == "85.6" else "")))
    rows += [
        node("training", pytorch, "98.2", 98.2, launch=1, note=f"as in the scaling plot; {torch_batch}"),
        node("training", pytorch, "390.7", 390.7, nodes=4, note="Horovod; batch not given"),
        node("training", pytorch, "781.5", 781.5, nodes=8, note="Horovod; batch not given"),
        node("training", tensorflow, "330.1", 330.1, nodes=4, note="Horovod; batch not given"),
        node("training", tensorflow, "651.5", 651.5, nodes=8, note="Horovod; batch not given; x7.61 over one node (85.6)"),
    ]
    a64fx = {"architecture": "A64FX", "precision": "fp64", "ranks": None, "nodes": 1}
    rows += [
        row("hpl/fugaku", "hpl", {"descriptor": "hpl"}, {"precision": "fp64", "architecture": "A64FX", "ranks": None, "nodes": None},
            TOP500, "442,010", "TFLOP/s", 442010, rates={"flops_per_s": 442010 * 10**12},
            note="the whole machine; node count not given"),
        row("stream/triad", "stream", {"descriptor": "triad"}, a64fx, SATO.citation, "80%", "% of 1024 GB/s", 80,
            rates={"bytes_per_s": 0.8 * 1024e9}, note="computed from the fraction of the peak, which is what is printed"),
        row("gemm/dgemm", "gemm", {"descriptor": "dgemm"}, a64fx, SATO.citation, "90%", "% of 2.7 TFLOP/s", 90,
            rates={"flops_per_s": 0.9 * 2.7e12}, note="computed from the fraction of the peak, which is what is printed"),
    ]
    write_system(folder, "fugaku", "Fugaku (Fujitsu A64FX): ResNet-50 on a node and on 4 and 8 nodes, HPL, STREAM, DGEMM", rows,
                 [environment("Fujitsu A64FX, 48 cores, 2.2 GHz, HBM2 32 GB", "Fugaku",
                              "Fujitsu compiler and SSL-II, oneDNN aarch64, tcmalloc, Horovod")])


def deep_learning_example(framework, container, commit, folder):
    return (f"NVIDIA, Deep Learning Examples: ResNet-50 v1.5 for {framework}, README without a date (container {container}), "
            f"https://github.com/NVIDIA/DeepLearningExamples/blob/{commit}/{folder}/README.md")


def mlperf_training(version, date):
    return f"MLCommons, MLPerf Training v{version} results, {date}, https://github.com/mlcommons/training_results_v{version}"


# The readmes print other numbers in other versions, so each is cited by its commit.
EXAMPLES = {"MXNet": deep_learning_example("MXNet", "mxnet-20.12-py3", "134510b4b7ff6225a76805b809e414fec3163071",
                                           "MxNet/Classification/RN50v1.5"),
            "PyTorch": deep_learning_example("PyTorch", "pytorch-21.03", "291f0d02e815b148fa5c2b81bf07aa3552142895",
                                             "PyTorch/Classification/ConvNets/resnet50v1.5")}
TODAY = [  # file, description, processor, rows: (precision, framework, text, images/s, citation)
    ("v100", "NVIDIA V100: ResNet-50 training", "NVIDIA V100", "Volta",
     [(None, None, "905", 905, SATO.citation + ", quoting NVIDIA"), ("fp32", "MXNet", "384", 384, EXAMPLES["MXNet"]),
      ("mixed", "MXNet", "1,376", 1376, EXAMPLES["MXNet"]),
      ("fp32", "PyTorch", "367", 367, EXAMPLES["PyTorch"]), ("mixed", "PyTorch", "1,200", 1200, EXAMPLES["PyTorch"])]),
    ("a100", "NVIDIA A100: ResNet-50 training", "NVIDIA A100", "Ampere",  # MXNet's as the README prints them; the page has others
     [("tf32", "MXNet", "1022", 1022, EXAMPLES["MXNet"]), ("mixed", "MXNet", "2180", 2180, EXAMPLES["MXNet"]),
      ("tf32", "PyTorch", "938", 938, EXAMPLES["PyTorch"]), ("mixed", "PyTorch", "2,470", 2470, EXAMPLES["PyTorch"])]),
    ("h100", "NVIDIA H100: ResNet-50 training, per GPU", "NVIDIA H100", "Hopper",
     [("fp16", None, "7,155", 7155, mlperf_training("4.0", "12 June 2024"))]),
    ("sapphire-rapids", "Intel Xeon Sapphire Rapids, one socket: ResNet-50 training", "Intel Xeon Sapphire Rapids", "Sapphire Rapids",
     [("bf16", None, "268", 268, mlperf_training("2.1", "9 November 2022"))]),
]


def resnet50_today(folder, sources):
    sources.on_page("V100 384 fp32 / 1,376 mixed;",
                    "PyTorch V100 367/1,200, A100 938/2,470; H100 7,155 fp16 per GPU (MLPerf Training 4.0)",
                    "Sapphire Rapids socket 268 bf16 (MLPerf Training 2.1)",
                    "| V100 reference quoted beside it, training | 905 (precision not given) | – |")
    sources.in_document(SATO, "NVIDIA GPU v100: 905 ips")
    for name, description, processor, architecture, printed in TODAY:
        unit = "socket" if name == "sapphire-rapids" else "GPU"
        rows = [resnet50("training", precision, framework, text, images, citation,
                         parameters={"architecture": architecture, "ranks": 1 if unit == "GPU" else None},
                         note=f"per {unit}" + ("" if precision else "; framework and precision not given"))
                for precision, framework, text, images, citation in printed]
        write_system(folder, name, description, rows, [environment(processor, "not published", "not published")])


RECORDS = [  # year, who, batch as printed, processor, how many, library, time as printed, seconds, accuracy as printed, as on the page
    (2016, "He et al.", "256", "Tesla P100", 8, "Caffe", "29 hours", 29 * 3600, "75.3%", "He 256×8 P100 29 h 75.3 %"),
    (2017, "Goyal et al.", "8K", "Tesla P100", 256, "Caffe2", "1 hour", 3600, "76.3%", "Goyal 8K×256 P100 1 h 76.3 %"),
    (2017, "Smith et al.", "8K→16K", "full TPU Pod", None, "TensorFlow", "30 mins", 1800, "76.1%",
     "Smith 8K→16K full TPU Pod 30 min 76.1 %"),
    (2017, "Akiba et al.", "32K", "Tesla P100", 1024, "Chainer", "15 mins", 900, "74.9%", "Akiba 32K×1024 P100 15 min 74.9 %"),
    (2018, "Jia et al.", "64K", "Tesla P40", 2048, "TensorFlow", "6.6 mins", 396, "75.8%", "Jia 64K×2048 P40 6.6 min 75.8 %"),
    (2018, "Mikami et al.", "34K→68K", "Tesla V100", 2176, "NNL", "224 secs", 224, "75.03%", "Mikami 34K→68K×2176 V100 224 s 75.03 %"),
]


def imagenet_records(folder, sources):
    rows, environments = [], []
    for year, who, batch, processor, count, library, text, seconds, accuracy, on_page in RECORDS:
        sources.on_page(on_page)
        sources.row_in_document(YIN, str(year), who, batch, f"{processor} x{count}" if count else processor, library, text, accuracy)
        name = who.split()[0].lower()
        problem = {"descriptor": f"resnet50-imagenet-to-{accuracy[:-1]}%-top1", "batch_printed": batch}
        if batch.isdigit():
            problem["global_batch_size"] = int(batch)
        executed = {"implementation": library, "top1": float(f"{float(accuracy[:-1]) / 100:.6g}")}
        note = f"{who} {year}: training time to a top-1 validation accuracy of {accuracy}"
        if name == "mikami":
            sources.in_document(YIN, "66% scaling efficiency on 2176 V100")
            sources.on_page("(2D-torus, 66 % efficiency)")
            executed["scaling_efficiency"] = 0.66
            note += "; 2D-torus allreduce, 66 % scaling efficiency"
        rows.append(row(f"resnet50/to-accuracy/{name}-{year}", "resnet50", problem,
                        {"direction": "training", "precision": None, "framework": library, "workload": "ResNet-50",
                         "architecture": processor, "ranks": count, "nodes": None},
                        RECORDS_SOURCE, text, text.split()[1], float(text.split()[0]), seconds=seconds, note=note, executed=executed,
                        environment=len(environments)))
        environments.append(environment(f"{processor} x{count}" if count else processor, "not published", library))
    write_system(folder, "imagenet-records", "ImageNet/ResNet-50 training records 2016-2018: time to the accuracy that each reached", rows,
                 environments)


def summit_exascale(folder, sources):
    sources.on_page("27,000+ V100 on Summit, DeepLabv3+, fp16 compute with fp32 accumulation, exaflop class, "
                    "about 40 of 125 TFLOP/s per GPU",
                    "20 TB data set, about 4 TB/s of reads")
    sources.in_document(PRABHAT, "27,000+", "~40 teraflops per GPU", "125 teraflops in mixed-precision",
                        "~4 terabyte per second sustained I/O", "20 terabyte dataset", "breaking the ExaFLOP barrier",
                        "FP16 and accumulates results in FP32")
    executed = {"implementation": "TensorFlow, Horovod", "storage": "fp16", "compute": "fp16", "accumulate": "fp32"}
    parameters = {"direction": "training", "precision": "mixed", "workload": "DeepLabv3+", "architecture": "Volta", "ranks": None,
                  "nodes": None}
    problem = {"descriptor": "deeplabv3plus-climate"}
    rows = [
        row("deeplabv3plus/per-gpu", "deeplabv3plus", problem, parameters, PRABHAT.citation, "~40", "TFLOP/s per GPU", 40,
            rates={"flops_per_s": 40 * 10**12}, executed=executed, note="peak, about, on 27,000+ GPUs; 125 TFLOP/s is a GPU's peak",
            incomparable="an approximate peak figure of an application, per GPU"),
        row("deeplabv3plus/whole-machine", "deeplabv3plus", problem, parameters, PRABHAT.citation, "ExaFLOP", "FLOP/s", None,
            executed=executed, why_none="no digits: the source says that the exaflop barrier was broken"),
        row("input/summit", "input", {"descriptor": "20TB", "size": 20 * 10**12}, {"workload": "DeepLabv3+", "nodes": None},
            PRABHAT.citation, "~4", "TB/s", 4, rates={"bytes_per_s": 4 * 10**12}, note="what the application needs, about; staged on node-local NVMe",
            incomparable="a rate that was required, not one that was measured"),
    ]
    whole = dict(parameters, ranks=27360)
    fp32 = {"implementation": "TensorFlow, Horovod", "storage": "fp32", "compute": "fp32", "accumulate": "fp32"}
    rows += [
        row("deeplabv3plus/fp16/sustained", "deeplabv3plus", problem, whole, EXAFLOP, "999.0", "PFLOP/s", 999.0,
            rates={"flops_per_s": 999.0e15}, executed=executed, note="sustained"),
        row("deeplabv3plus/fp16/peak", "deeplabv3plus", problem, whole, EXAFLOP, "1.13", "EFLOP/s", 1.13, rates={"flops_per_s": 1.13e18},
            executed=executed, note="peak", incomparable="the best of several moments of a training"),
        row("deeplabv3plus/fp32/sustained", "deeplabv3plus", problem, dict(whole, precision="fp32"), EXAFLOP, "325.8", "PFLOP/s", 325.8,
            rates={"flops_per_s": 325.8e15}, executed=dict(fp32, scaling_efficiency=0.907), note="sustained, at an efficiency of 90.7 %"),
        row("tiramisu/fp32/sustained", "tiramisu", {"descriptor": "tiramisu-climate"},
            dict(whole, precision="fp32", workload="Tiramisu", architecture="Pascal", ranks=5300), EXAFLOP, "21.0", "PFLOP/s", 21.0,
            rates={"flops_per_s": 21.0e15}, executed=dict(fp32, scaling_efficiency=0.79), environment=1,
            note="sustained, at an efficiency of 79.0 %"),
    ]
    write_system(folder, "summit-exascale", "Summit, 27,360 V100: DeepLabv3+ at exascale (Gordon Bell prize 2018); Tiramisu on 5300 P100", rows,
                 [environment("NVIDIA Tesla V100", "Summit", "TensorFlow, Horovod, NCCL, MPI"),
                  environment("NVIDIA Tesla P100", "not published", "TensorFlow, Horovod, MPI")])


def candle(folder):
    """An epoch of 2400 samples; what else the pages print."""
    printed = [("p1b1", "8", "batches of 100; validation loss 0.0377, correlation 0.96", {"correlation": 0.96}),
               ("p1b2", "4", "batches of 60; accuracy 0.595 in validation, 0.55 in test", {"accuracy": 0.595})]
    rows = [row(f"candle/{name}/epoch", f"candle-{name}", {"descriptor": f"{name}-epoch-of-2400"},
                {"direction": "training", "precision": None, "framework": "Keras", "workload": f"CANDLE {name.upper()}", "architecture": "Kepler",
                 "ranks": 1, "nodes": 1},
                f"ECP-CANDLE, Benchmarks: Pilot1 {name.upper()}, README without a date, "
                f"https://github.com/ECP-CANDLE/Benchmarks/blob/master/Pilot1/{name.upper()}/README.md",
                seconds, "s", float(seconds), seconds=float(seconds), note="an epoch of 2400 samples, " + note,
                executed=dict({"implementation": "Keras"}, **found)) for name, seconds, note, found in printed]
    write_system(folder, "candle-k80", "NVIDIA K80: an epoch of CANDLE's P1B1 and P1B2", rows, [environment("NVIDIA Tesla K80", "not published", "Keras")])


def baselines(folder, sources, data):
    titan(folder, sources, data)
    fugaku(folder, sources)
    resnet50_today(folder, sources)
    imagenet_records(folder, sources)
    summit_exascale(folder, sources)
    candle(folder)
