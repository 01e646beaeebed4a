"""Jobs of two ranks, one on each processor, of which one is delayed or has a hog beside it, or of four hosts (namespaces) with a slow link;
and whom their rows blame."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from hosts_helper import Hosts, hosts_of, why_not  # noqa: E402,F401
from run_helper import BIN, BUILD  # noqa: E402

PROCESSORS = sorted(os.sched_getaffinity(0))
HOSTS = list(hosts_of(4))
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
       "ASSAY_PLUGIN_PATH": str(BUILD / "lib" / "assay")}
TRAIN = ("assay-train", "--network", "resnet18:w16s32c10", "--batch", 8, "--threads", 1, "--backend", "native")
TRAIN_SMALL = ("assay-train", "--network", "resnet18:w8s32c10", "--batch", 4, "--threads", 1, "--backend", "native")
STEPS = 1500  # that find a delay of 3 % where steps vary by 12 %
MOST_STEPS = 15000
DECIDED = (*TRAIN_SMALL, "--steps", STEPS)
COLLECTIVE_LONG = ("assay-collectives", "--bytes", "256K")
COLLECTIVE = ("assay-collectives", "--bytes", "64K")
STOPPED, HOGGED = "it did not run", "it waited for a processor that others used"


def why_not_two():
    return None if len(PROCESSORS) >= 2 else "there is one processor"


@contextlib.contextmanager
def hog(processor, share=1.0, turn=0.02):
    """A process that fills a processor for a share of the time."""
    code = ("import time\nwhile True:\n end = time.perf_counter() + %g\n while time.perf_counter() < end: pass\n time.sleep(%g)"
            % (turn * share, turn * (1 - share)))
    process = subprocess.Popen([sys.executable, "-c", code], preexec_fn=lambda: os.sched_setaffinity(0, {processor}))
    try:
        yield
    finally:
        process.kill()
        process.wait()


def run(words, out, launcher, **variables):
    done = subprocess.run([str(word) for word in (*launcher, BIN / words[0], *words[1:], "--out", out)], env={**os.environ, **MPI, **variables},
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    if not pathlib.Path(out).exists():
        raise RuntimeError(done.stdout[-3000:])
    (row,) = json.loads(pathlib.Path(out).read_text())["rows"]
    if row["status"] != "ok":
        raise RuntimeError(row["reason"])
    return row


def two_ranks(words, out, slow=None, share=0.7, turn=0.002, swapped=False):
    """`slow`: the rank that is stopped for the rest of `share` of each `turn`; `swapped`: rank 0 has the second processor."""
    first, second = PROCESSORS[1::-1] if swapped else PROCESSORS[:2]  # by taskset: mpirun sorts a list of processors
    bound = f'[ "$OMPI_COMM_WORLD_RANK" = 0 ] && own={first} || own={second}; exec taskset -c "$own" "$@"'
    launcher = ["mpirun.openmpi", "-n", 2, "--bind-to", "none", "sh", "-c", bound, "bound"]
    delay = [] if slow is None else [sys.executable, SCRIPTS / "slow_rank.py", slow, share]
    return run(words, out, [*launcher, *delay], SLOW_RANK_TURN_S=str(turn))


def decided(out, *delay, **delayed):
    """The row of DECIDED; where chance explains too much, of a job of as many steps as the row asks for."""
    row = two_ranks(DECIDED, out, *delay, **delayed)
    if needed := re.search(r"about (\d+) decide", row["blame"]["undecided"] or ""):
        pathlib.Path(out).unlink()
        row = two_ranks((*DECIDED[:-1], min(MOST_STEPS, int(1.2 * int(needed[1])))), out, *delay, **delayed)
    return row


def slower_processor(row):
    """How much longer one of two equal ranks had a processor for the same work, as a part of the job's time: hogs and stops do not count."""
    return abs(row["blame"]["ranks"][0]["processor_s"] - row["blame"]["ranks"][1]["processor_s"]) / row["blame"]["seconds"]


def has_cause(row, one):
    """By the kernel's clocks, not those of the arrivals: threads that were ready, or processors that a hypervisor took."""
    if one["rank"] is None:
        return False
    ranks = row["blame"]["ranks"]
    if one["how"] == STOPPED:
        return (row["time_s"]["stolen"] or 0) >= 0.5 * one["cost"]
    return one["how"] == HOGGED and (ranks[one["rank"]]["ready_s"] or 0) - (ranks[1 - one["rank"]]["ready_s"] or 0) >= 0.5 * one["cost_s"]


def longer(row, rank):
    """By how much this rank had a processor for longer than the other."""
    return row["blame"]["ranks"][rank]["processor_s"] - row["blame"]["ranks"][1 - rank]["processor_s"]


def two_orders(words, out):
    """Rows of equal ranks: of a job, of one in which they have swapped their processors, and of the first again; and those that are blamed
    falsely. A processor that others use may be slower: it is blamed rightly if the other rank takes longer on it, and the first one again."""
    rows = []
    for swapped in (False, True, False):
        pathlib.Path(out).unlink(missing_ok=True)
        rows.append(two_ranks(words, out, swapped=swapped))
        places = [rank["place"] for rank in rows[-1]["blame"]["ranks"]]
        if places != [f"processors {number}" for number in (PROCESSORS[1::-1] if swapped else PROCESSORS[:2])]:
            raise RuntimeError(f"the ranks are on {places}")
    false = []
    for job, row in enumerate(rows):
        for one in row["blame"]["blamed"]:
            slower = one["rank"] is not None and all(longer(other, one["rank"] if job % 2 == number % 2 else 1 - one["rank"]) > 0
                                                     for number, other in enumerate(rows))
            if not slower and not has_cause(row, one):
                false.append(one)
    return rows, false


def four_hosts(words, slow=None, mbit=160):
    """A rank on each; what host `slow` sends and receives has half of the rate."""
    with tempfile.TemporaryDirectory() as folder, Hosts(folder, 4) as hosts:
        for host in HOSTS:
            hosts.shape(host, mbit, *((mbit // 2,) if host == slow else ()))
        export = [word for name in ("ASSAY_PLUGIN_PATH", "OMP_NUM_THREADS") for word in ("-x", name)]
        return run(words, pathlib.Path(folder) / "row.json", hosts.on_first(*hosts.mpirun(4), *export))


def blamed(row):
    """Pairs of rank, or the link, and the reason."""
    return [(one["host"] if one["rank"] is None else one["rank"], one["how"]) for one in row["blame"]["blamed"]]
