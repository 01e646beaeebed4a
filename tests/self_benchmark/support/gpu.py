"""Rows of a GPU for ratios of the group gpu, of programs that are started anew, and PyTorch beside them on the same GPU: with the same libraries, in
the same run, its samples before and after ours.

--small takes small problems, to try the scripts: the claims are about the default alone. --suite FILE: another one than coral2-gpu."""
import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

from support import analytics
from support.analytics import BIN, SOURCE, Peer, asked, folder, pairs_asked, result_of

SMALL = "--small" in sys.argv
SUITE = asked("--suite", "coral2-gpu")
TABLE, NETWORK, COPY = ("n2000d9", "d18w4s32c5", 4096) if SMALL else ("n262144d250", "imagenet", 1 << 27)
# The convolution of which a real GPU first showed that its rows contained the launch.
CONVOLUTION = ("--problem", "mb1ic4ih6oc4oh4kh3" if SMALL else "mb16ic64ih112oc128oh112kh3ph1", "--precision", "fp16", "--layout", "nhwc",
               "--algorithm", "auto", "--backend", "cuda")
# Libraries that both sides have opened from the same folder are the same.
LIBRARIES = ("cudnn", "cublas", "cudart", "cusolver", "cusparse", "nvJitLink", "nvrtc", "cupti")
FACTS = {}  # of the ratio: card, date, commit, and the peer where there is one
GPU = {}    # as Assay sees it


def each():
    """The words of the line `each:` of the ratio's head that was asked for."""
    return dict(word.split("=", 1) for word in sys.argv if re.match(r"\w+=", word))


def tell(**told):
    analytics.tell(**told, **FACTS)


def see_gpu(document):
    software = document["environments"][0]["software"]
    GPU.update(software["libraries"].get("cuda", {}))
    if not GPU:  # a result of the backend `auto` does not tell which libraries it has opened
        row("assay-conv", *CONVOLUTION)
    FACTS.update(card=GPU["gpu"], date=document["run"]["started"][:10], commit=(software["assay"].get("commit") or "unknown")[:10])


def rows(program, *words, max_time=1, partial=False):
    """All rows of a run, which is kept in the folder ASSAY_GPU_ROWS where that is set."""
    document, _ = result_of(program, "--device", "gpu", "--max-time", 0.02 if SMALL else max_time, *words, partial=partial)
    if kept := os.environ.get("ASSAY_GPU_ROWS"):
        number = len(list(pathlib.Path(kept).glob("*.json")))
        pathlib.Path(kept, f"{'_'.join([pathlib.Path(sys.argv[0]).stem, *filter(None, [each().get('each')])])}-{number:03}.json").write_text(json.dumps(document))
    see_gpu(document)
    if FACTS.get("cudnn", GPU["cudnn"]) != GPU["cudnn"]:
        tell(skip=f"Assay has cuDNN {GPU['cudnn']}, PyTorch {FACTS['cudnn']}")
    return document["rows"]


def row(program, *words):
    (found,) = rows(program, *words)
    return found


def median(of):
    """The median says nothing of the device where more than a few samples contain the host's time."""
    few = re.match(r"(\d+) of (\d+) samples", of["time_s"].get("host_included", "0 of 1 samples"))
    if few is None or 20 * int(few[1]) > int(few[2]):
        sys.exit(f"{of['id']} contains the host's time: {of['time_s']['host_included']}")
    return of["time_s"]["median"]


def samples(of, count):
    """The medians of `count` parts of a row's samples, in their order; fewer where there are fewer samples."""
    all_of_them = of["samples_s"]
    count = min(count, len(all_of_them))
    ends = [len(all_of_them) * part // count for part in range(count + 1)]
    return [statistics.median(all_of_them[begin:end]) for begin, end in zip(ends, ends[1:])]


def network(direction, precision, batch):
    """The row of ResNet-50. A step of training reads its loss: it contains the host's time."""
    size = ("--batch", 2 if SMALL else batch)
    steps = () if direction == "inference" else ("--steps", 2 if SMALL else 20)
    found = row("assay-resnet50", "--problem", NETWORK, "--backend", "auto", "--direction", direction, "--precision", precision, *size, *steps)
    if direction == "inference":
        median(found)
    return found


def matmul_rate(precision):
    """Floating-point operations per second of a product of large matrices."""
    found = row("assay-stream", "--problem", f"matmul_n{64 if SMALL else 8192}", "--precision", precision, "--backend", "cuda")
    return found["problem"]["flops"] / median(found)


def copy_rate(kernel="copy"):
    """Bytes per second of the copy of an array that no cache holds, and its row."""
    found = row("assay-stream", "--problem", f"{kernel}_n{COPY}", "--precision", "fp64", "--backend", "cuda")
    return found["problem"]["bytes"] / median(found), found


def read_again(layer, width):
    """Bytes that must move beside each input read and each output written once: a normalization with statistics reads its input again for its
    results, backward also the gradient, of which the L2 cache can hold a part from the first time."""
    sizes = {name: int(number) for name, number in re.findall(r"([a-z]+)(\d+)", layer["problem"])}
    if layer["operation"] != "norm":
        return 0
    tensor = width * sizes["mb"] * sizes["ic"] * sizes["ih"] * sizes.get("iw", sizes["ih"])
    return max(0, (2 if layer["direction"] == "backward" else 1) * tensor - (0 if SMALL else GPU["l2_bytes"]))


def pytorch(script, *words):
    """A peer that has checked its results. From here on Assay opens the libraries of CUDA that PyTorch has opened."""
    peer = Peer(*words, script=script, absent=(2, 3))
    if peer.name is None:
        tell(skip=peer.reason)
    FACTS.update(peer=peer.name, cudnn=peer.told["cudnn"])
    place = folder()
    for library in (file for each in peer.told["folders"] for file in pathlib.Path(each).glob("lib*.so*")):
        if library.name[3:].startswith(LIBRARIES) and not (place / library.name).exists():
            (place / library.name).symlink_to(library)
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(place), os.environ.get("LD_LIBRARY_PATH")]))
    return peer


def beside(peer, ours, theirs=lambda run: run, note=lambda *_: ""):
    """Pairs of seconds of both: half of the peer's runs come before ours and half after, so that neither is on a warmer GPU. `ours`: gives so
    many samples; `theirs`: the seconds of what the peer says of a run; `note`: what else the runs and the medians of both sides say."""
    count = pairs_asked(10)
    runs = [peer.run() for _ in range((count + 1) // 2)]
    mine = ours(count)
    runs += [peer.run() for _ in range(count // 2)]
    peer.end()
    pairs = [list(pair) for pair in zip(map(theirs, runs), mine)]
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    tell(pairs=pairs, runs=runs, unit="s", note=f"{note(runs, *map(statistics.median, zip(*pairs)))}load {load}")


def networks(direction, precision, batch, *words):
    """PyTorch's step of ResNet-50 over ours."""
    size = ("--depth", 18, "--width", 4, "--image-size", 32, "--classes", 5, "--batch", 2) if SMALL else ("--batch", batch)
    peer = pytorch("pytorch_resnet50", "--device", "cuda", "--mode", "train" if direction == "training" else direction, "--precision", precision,
                   *size, *words)
    beside(peer, lambda count: samples(network(direction, precision, batch), count),
           note=lambda _, theirs, mine: f"{batch / theirs:.0f} images/s by PyTorch, {batch / mine:.0f} by Assay; ")


def kernels(work, problem, ours):
    """PyTorch's seconds of one problem over those of a row of ours."""
    beside(pytorch("pytorch_kernels", work, "--problem", problem), lambda count: samples(ours(), count), lambda run: run[problem])


def convolutions(precision):
    """The sum of the times of all convolutions of ResNet-50 in three directions: PyTorch's over ours. One that Assay cannot prove is left out of
    both, and named."""
    listed = json.loads((SOURCE / "suites/problems/conv/resnet50.json").read_text())["problems"]
    repeats, problem = {"mb64" + each["descriptor"]: each["repeat"] for each in listed}, "resnet50@mb64"
    if SMALL:
        repeats = {"mb1ic4ih6oc4oh4kh3": 2, "mb1ic4ih5oc4oh5kh1": 1}
        problem = ",".join(repeats)
    directions, by_case = ("forward", "bwd_data", "bwd_weights"), {}
    left_out = []

    def ours(count):
        for each in rows("assay-conv", "--problem", problem, "--precision", precision, "--direction", ",".join(directions), "--layout", "nhwc",
                         "--algorithm", "auto", "--backend", "cuda", max_time=0.3, partial=True):
            name = f"{each['parameters']['direction']} {each['problem']['descriptor']}"
            if each["status"] == "unsupported":
                left_out.append(f"without {name} ({each['reason']}); ")
                continue
            median(each)
            by_case[name] = samples(each, count)
        cases = len(directions) * len(repeats)
        if len(by_case) + len(left_out) != cases:
            sys.exit(f"there are {len(by_case) + len(left_out)} cases of {cases}")
        if len(left_out) > max(3, cases // 10):  # the rest says little of the network
            sys.exit(f"{len(left_out)} of {cases} convolutions cannot be proved: {''.join(left_out)}")
        return [whole(dict(zip(by_case, of_cases))) for of_cases in zip(*by_case.values())]

    def whole(run, direction=""):
        return sum(repeats[name.split()[1]] * run[name] for name in by_case if name.startswith(direction))

    def note(runs, *_):
        mine = {name: statistics.median(seconds) for name, seconds in by_case.items()}
        return "".join(f"{each} {1e3 * whole(runs[-1], each):.2f} ms by PyTorch, {1e3 * whole(mine, each):.2f} by Assay; " for each in directions
                       ) + "".join(left_out)
    beside(pytorch("pytorch_kernels", "conv", "--precision", precision, "--problem", ",".join(repeats)), ours, whole, note)


def states(found):
    """The number of rows in each state."""
    return ", ".join(f"{count} {state}" for state, count in collections.Counter(each["status"] for each in found).items())


def refuse_wrong(found):
    """Fails where a row is no result."""
    wrong = [f"{each['id']} is {each['status']}: {each['reason']}" for each in found if each["status"] in ("incorrect", "failed")]
    if wrong:
        sys.exit(f"{len(wrong)} of {len(found)} rows are wrong: {'; '.join(wrong[:5])}")


def run_suite(name, out, *words):
    """The exit code of a run that has a result."""
    command = [BIN / "assay", "run", name, "--quiet", "--out", out, *words]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not (out / "result.json").exists():
        sys.exit(f"assay run {name} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.returncode


def ok_rows(out):
    """All rows of a run, one of which is ok."""
    document = json.loads((out / "result.json").read_text())
    if not any(each["status"] == "ok" for each in document["rows"]):
        tell(skip=next((each["reason"] for each in document["rows"] if each["reason"]), "no row is ok"))
    see_gpu(document)
    return document["rows"]


def suite(minutes, go_on=False):
    """The rows of the suite, whether they are all, the seconds that they took, and whether that is known of all: what the run in ASSAY_GPU_SUITE
    has, which begins here, or goes on, for so many minutes (at most ASSAY_GPU_MINUTES) where there is none or it is to go on."""
    minutes = min(minutes, float(os.environ.get("ASSAY_GPU_MINUTES", minutes)))
    out = pathlib.Path(os.environ.get("ASSAY_GPU_SUITE") or folder() / "suite")
    times = out.with_suffix(".times")  # begin, exit code and end of every run; one that was killed has no end

    def spans():
        return list(filter(None, map(str.split, times.read_text().splitlines()))) if times.exists() else []

    def whole():
        return bool(spans()) and len(spans()[-1]) == 3 and spans()[-1][1] in ("0", "3", "7")  # 6: rows are missing
    if (go_on and not whole()) or not (out / "result.json").exists():
        with times.open("a") as file:
            print(f"\n{time.time()}", end=" ", file=file, flush=True)
            code = run_suite(SUITE, out, "--walltime", f"{int(minutes)}:{int(60 * minutes) % 60:02}", *(["--resume"] if out.exists() else []))
            print(code, time.time(), file=file)
    ended = [span for span in spans() if len(span) == 3]
    return ok_rows(out), whole(), sum(float(end) - float(begin) for begin, _, end in ended), ended == spans()


def set_up(limit, worst=False):
    """Seconds of set-up and verification of the suite's rows over the limit: of the median row of those that there are, or of the worst of all."""
    found, whole, *_ = suite(3)
    seconds = [sum(each["setup_s"].values()) for each in found if each["status"] == "ok"]
    tell(pairs=[[each, limit] for each in seconds], unit="s", at_least=worst and not whole,
         note=f"{states(found)}{'' if whole else ', not all'}: median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s")


def bound(seconds, limit, note):
    """The seconds of a whole command over their limit."""
    tell(pairs=[[seconds, limit]], unit="s", note=note)
