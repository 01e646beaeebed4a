"""A link of four hosts (namespaces) that is shaped to half, and what the bisection of assay-collectives says of it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from hosts_helper import Hosts, hosts_of, why_not  # noqa: E402
from run_helper import BIN, BUILD  # noqa: E402

COUNT, MBIT = 4, 160  # slow enough that the machine's two processors do not matter
NAMES = list(hosts_of(COUNT))


def row_of(slow=None, to=None):
    """The row of a bisection in which the link of `slow`, or its path to another host, has half of the rate."""
    with tempfile.TemporaryDirectory() as folder, Hosts(folder, COUNT) as hosts:
        for host in NAMES:
            hosts.shape(host, MBIT, *((MBIT // 2, to) if host == slow else ()))
        out = pathlib.Path(folder) / "rows.json"
        variables = {**os.environ, "ASSAY_PLUGIN_PATH": str(BUILD / "lib" / "assay"), "OMP_NUM_THREADS": "1",
                     "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run(
            hosts.on_first(*hosts.mpirun(COUNT), "-x", "ASSAY_PLUGIN_PATH", "-x", "OMP_NUM_THREADS", BIN / "assay-collectives",
                           "--collective", "bisection", "--bytes", "1M", "--max-time", "1", "--min-samples", "5", "--out", out),
            env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(done.stdout)
        (row,) = json.loads(out.read_text())["rows"]
        return row


def named(row):
    """The names of slow links."""
    return sorted(name[len("slow_link_"):] for name in row["metrics"] if name.startswith("slow_link_"))
