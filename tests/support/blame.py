"""Jobs of two ranks, one on each processor, of which one is delayed or has a hog beside it, or of four hosts (namespaces) with a slow link;
and whom their rows blame."""
import contextlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from hosts_helper import Hosts, hosts_of, why_not  # noqa: E402,F401
from run_helper import BIN, BUILD  # noqa: E402

PROCESSORS = sorted(os.sched_getaffinity(0))
HOSTS = list(hosts_of(4))
# Single copies are off: these let one rank read the sums of the other, whose next writes there are slower where cores
# share no L3.
MPI = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMP_NUM_THREADS": "1", "ASSAY_PLUGIN_PATH": str(BUILD / "lib" / "assay")}
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


def exchange(pids, done):
    """Lets ranks change their processors every 20 ms: where others slow one of them down, each rank has it for half of the time."""
    for turn in itertools.count():
        if done.wait(0.02):
            return
        for rank in (0, 1) if turn // 2 % 2 else (1, 0):  # the first disturbs the other for a moment
            processor = PROCESSORS[(turn + rank + 1) % 2]
            with contextlib.suppress(OSError, ValueError):  # a rank that has not begun, or has ended
                for task in pathlib.Path(f"/proc/{int((pids / str(rank)).read_text())}/task").iterdir():
                    os.sched_setaffinity(int(task.name), {processor})


def two_ranks(words, out, slow=None, share=0.7, turn=0.002, equal=False):
    """`slow`: the rank that is stopped for the rest of `share` of each `turn`; `equal`: ranks change their processors."""
    delay = [] if slow is None else [sys.executable, SCRIPTS / "slow_rank.py", slow, share]
    with tempfile.TemporaryDirectory() as pids:
        bound = f'echo $$ > {pids}/$OMPI_COMM_WORLD_RANK; exec taskset -c $((OMPI_COMM_WORLD_RANK ? {PROCESSORS[1]} : {PROCESSORS[0]})) "$@"'
        launcher = ["mpirun.openmpi", "-n", 2, "--bind-to", "none", "sh", "-c", bound, "bound"]
        done = threading.Event()
        changes = threading.Thread(target=exchange, args=(pathlib.Path(pids), done))
        if equal:
            changes.start()
        try:
            return run(words, out, [*launcher, *delay], SLOW_RANK_TURN_S=str(turn))
        finally:
            done.set()
            if equal:
                changes.join()


def decided(out, *delay, **delayed):
    """The row of DECIDED; where chance explains too much, of a job of as many steps as the row asks for."""
    row = two_ranks(DECIDED, out, *delay, **delayed)
    if needed := re.search(r"about (\d+) decide", row["blame"]["undecided"] or ""):
        pathlib.Path(out).unlink()
        row = two_ranks((*DECIDED[:-1], min(MOST_STEPS, int(1.2 * int(needed[1])))), out, *delay, **delayed)
    return row


def slower_processor(row):
    """The difference of the processor times of two equal ranks for the same work, as a part of the job's time: hogs and
    stops do not count."""
    return abs(row["blame"]["ranks"][0]["processor_s"] - row["blame"]["ranks"][1]["processor_s"]) / row["blame"]["seconds"]


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
