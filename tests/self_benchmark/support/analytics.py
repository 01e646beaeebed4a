"""The common part of the ratios of PCA, K-means and SVM: our programs, scikit-learn's process, the pairs. A program is
started for each pair, verifies what it computes, and counts with the median of its samples; the peer's process stays,
and counts with the median of as many seconds.

--size n8192d50 takes a smaller table, to try the scripts: the claims are about the default alone."""
import atexit
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("ASSAY_BUILD_DIR", SOURCE / "build")) / "bin"
NOT_INSTALLED, UNTIMED = 3, 5  # exits of scripts/peers
# Our tables lie in pages of 2 MiB, as NumPy's do. So do triad's arrays here: the limit is that of the same pages.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def asked(flag, otherwise):
    return sys.argv[sys.argv.index(flag) + 1] if flag in sys.argv else otherwise


SIZE = asked("--size", "n262144d250")
ROWS, FEATURES = map(int, re.fullmatch(r"n(\d+)d(\d+)", SIZE).groups())


def pairs_asked(otherwise):
    return int(asked("--pairs", otherwise))


def folder():
    made = pathlib.Path(tempfile.mkdtemp(prefix="assay-analytics-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def tell(**told):
    json.dump(told, sys.stdout)
    sys.exit(0)


def result_of(program, *words, launcher=(), partial=False):
    """The result file of a program whose rows are all ok, and the largest memory of a process of it in bytes. Ends the ratio where a row is not:
    without one where it is unsupported (`partial`: where all are), else as a failure."""
    out = folder() / "row.json"
    command = list(map(str, [*launcher, BIN / program, *words, "--quiet", "--out", out]))
    environment = {**os.environ, **(LARGE_PAGES if program == "assay-stream" else {})}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    document = json.loads(out.read_text()) if out.exists() else {"rows": []}
    partial = partial and any(row["status"] == "ok" for row in document["rows"])
    for row in document["rows"]:
        if row["status"] == "unsupported":
            if partial:
                continue
            tell(skip=f"{row['id']}: {row['reason']}")
        if row["status"] != "ok":
            sys.exit(f"{row['id']} is {row['status']}: {row['reason']}")
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}: {errors.strip()[-500:]}")
    return document, 1024 * usage.ru_maxrss


def row_of(program, *words, launcher=(), problem=SIZE):
    """The verified row of one case, and the largest memory of a process of it in bytes."""
    document, peak = result_of(program, "--problem", problem, *words, launcher=launcher)
    (row,) = document["rows"]
    return row, peak


def seconds_of(program, *words, launcher=(), problem=SIZE):
    return statistics.median(row_of(program, *words, launcher=launcher, problem=problem)[0]["samples_s"])


def has_backend(name):
    return (BIN.parent / "lib" / "assay" / f"libassay_{name}.so").exists()


def best_of(alternatives, seconds):
    """The alternative with the least seconds: what a machine can do is what the best of them does."""
    return min(alternatives, key=seconds)


def triad_words(*words):
    """assay-stream's triad, by the kind of stores that is the faster one here."""
    kind = best_of(("regular", "nontemporal"),
                   lambda kind: seconds_of("assay-stream", *words, "--algorithm", kind, "--max-time", 0.5, problem="triad"))
    return [*words, "--algorithm", kind, "--max-time", 1]


def launchers():
    """Words that start a number of ranks."""
    if shutil.which("mpirun") is None:
        tell(skip="there is no mpirun in PATH")
    # The machine's own limits are for those who share it; this program knows how many it starts.
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        os.environ.setdefault(name, "1")
    return lambda count: ["mpirun", "-n", count]


def two_ranks(program, *words):
    """One rank's seconds over those of two ranks, one thread each."""
    launcher = launchers()

    def ranks(count):
        return lambda: seconds_of(program, *words, "--threads", 1, "--max-time", 2, launcher=launcher(count))
    tell(pairs=alternate(pairs_asked(6), ranks(1), ranks(2)), unit="s", note=f"{program}, {SIZE}, fp64")


def two_ranks_beside_triad(program, *words):
    """The gain by a second rank over what triad gains by it, each rank with arrays of its own."""
    launcher = launchers()
    triad = triad_words("--threads", 1, "--all-ranks")

    def analysis():
        return (seconds_of(program, *words, "--threads", 1, "--max-time", 2, launcher=launcher(1))
                / seconds_of(program, *words, "--threads", 1, "--max-time", 2, launcher=launcher(2)))

    def bandwidth():  # two ranks move twice as much
        one, two = (seconds_of("assay-stream", *triad, launcher=launcher(count), problem="triad") for count in (1, 2))
        return 2 * one / two
    tell(pairs=alternate(pairs_asked(6), analysis, bandwidth), unit="times", note=f"{program}, {SIZE}, fp64; {' '.join(map(str, triad))}")


class Peer:
    """A script of scripts/peers, checked by itself; `name` is None where it ends with one of `absent`: it is not installed."""

    def __init__(self, *words, script="sklearn_bench", absent=(NOT_INSTALLED,)):
        self.errors = tempfile.TemporaryFile("w+")  # a pipe that nobody reads would stop a peer with many warnings
        self.process = subprocess.Popen([str(SOURCE / "scripts/peers" / script), *map(str, words)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True, bufsize=1)
        first = self.process.stdout.readline()
        if not first:
            ended = self.process.wait()
            self.reason = self.last_words()
            if ended not in absent:
                sys.exit(f"{script} ended with {ended}: {self.reason}")
        self.told = json.loads(first) if first else {}
        self.name = self.told.get("peer")

    def last_words(self):
        self.errors.seek(0)
        return self.errors.read().strip()[-500:]

    def seconds(self, runs):
        return statistics.median(self.run() for _ in range(runs))

    def run(self):
        """The report of one run: its seconds, or those of each of its cases."""
        with contextlib.suppress(BrokenPipeError):  # it has ended, and has said why
            self.process.stdin.write("\n")
        answer = self.process.stdout.readline()
        if not answer:
            if self.process.wait() == UNTIMED:
                tell(skip=self.last_words())
            sys.exit(f"{self.name} has ended: {self.last_words()}")
        return json.loads(answer)

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()


def data(table, *words):
    """The table as NPY files in a folder of its own: rows, and labels where it has them."""
    place = folder()
    files = ["--data", place / "x.npy"] + (["--labels", place / "y.npy"] if table == "classes" else [])
    written = ["-o" if word == "--data" else word for word in map(str, files)]
    subprocess.run([str(BIN / "assay-dataset"), f"{table}:{SIZE}", *written, *words], check=True, stderr=subprocess.DEVNULL)
    return files


def alternate(count, a, b):
    """Seconds of both, the first of a pair swapped pair by pair."""
    pairs = []
    for pair in range(count):
        first, second = ((b, a) if pair % 2 else (a, b))
        pairs.append([first(), second()])
        if pair % 2:
            pairs[-1].reverse()
    return pairs


def against(peers, program, words, pairs, runs):
    """The fastest peer's seconds over ours."""
    for peer in [peer for peer in peers if peer.name is None]:
        print(f"left out: {peer.reason}", file=sys.stderr)
    there = [peer for peer in peers if peer.name]
    if not there:
        tell(skip=peers[0].reason)
    warm = {peer.name: peer.seconds(runs) for peer in there}
    peer = min(there, key=lambda peer: warm[peer.name])
    for other in there:
        if other is not peer:
            other.end()
    others = "".join(f"; {name} {seconds:.3g} s" for name, seconds in warm.items() if name != peer.name)
    whole = f", a whole fit {peer.told['fit_s']:.3g} s" if "fit_s" in peer.told else ""
    found = alternate(pairs, lambda: peer.seconds(runs), lambda: seconds_of(program, *words))
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    tell(pairs=found, unit="s", at_least=peer.told.get("at_least", False),
         note=f"{peer.name}{whole}{others}, against {program} {' '.join(map(str, words))}; {SIZE}, fp64, load {load}")
