"""A Slurm cluster of some nodes on this machine, from Debian's packages: its own munge, controller and node daemons, with every key,
socket, port and state in one temporary folder, so that a Slurm of the host is neither seen nor touched. Each node's daemon is in a UTS
namespace, so that its tasks see a host name of their own."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

NODES = ("assaynode1", "assaynode2")
PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "sbatch", "unshare")


def why_not():
    """Why this machine cannot do it, or None."""
    missing = [program for program in PROGRAMS if find(program) is None]
    if missing:
        return f"{', '.join(missing)}: not installed (Debian: slurm-wlm munge)"
    if os.geteuid() != 0:
        return "a UTS namespace for each node needs root"
    return None


def find(program):
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")


def free_ports(count):
    """Ports that nobody has now, all different."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm:
    """The cluster, from `with` to its end. `environment` leads commands to it."""

    def __init__(self, folder, nodes=NODES, cpus=None):
        self.folder, self.nodes = pathlib.Path(folder), nodes
        self.cpus = cpus or os.cpu_count()
        self.daemons = {}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)  # munge refuses folders that others can write to
        controller, *ports = free_ports(1 + len(self.nodes))
        self.socket = self.folder / "munge" / "socket"
        self.write_configuration(controller, ports)
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.start_munge()
        self.daemon("slurmctld", find("slurmctld"), "-D", "-i")
        for node in self.nodes:
            self.start_node(node)
        self.wait_for(self.all_idle, "the nodes are idle")

    def write_configuration(self, controller, ports):
        lines = ["ClusterName=assay", f"SlurmctldHost={socket.gethostname()}(127.0.0.1)", f"SlurmctldPort={controller}",
                 "SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge", f"AuthInfo=socket={self.socket}", "CredType=cred/munge",
                 f"StateSaveLocation={self.folder}/state", f"SlurmdSpoolDir={self.folder}/spool-%n",
                 f"SlurmctldPidFile={self.folder}/slurmctld.pid", f"SlurmdPidFile={self.folder}/slurmd-%n.pid",
                 f"SlurmctldLogFile={self.folder}/slurmctld.log", f"SlurmdLogFile={self.folder}/slurmd-%n.log",
                 f"TmpFS={self.folder}/tmp-%n",  # PMIx keeps a folder of each node's step there; the nodes share /tmp
                 "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/affinity", "MpiDefault=pmix", "SwitchType=switch/none",
                 "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core", "SchedulerType=sched/backfill",
                 "SchedulerParameters=sched_interval=1,bf_interval=1", "ReturnToService=2", "SlurmdTimeout=15", "KillWait=2",
                 "OverTimeLimit=0", "MinJobAge=300", "JobAcctGatherType=jobacct_gather/none",
                 "AccountingStorageType=accounting_storage/none"]
        lines += [f"NodeName={node} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} State=UNKNOWN"
                  for node, port in zip(self.nodes, ports)]
        lines.append(f"PartitionName=debug Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP")
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        for folder in ("state", *(f"tmp-{node}" for node in self.nodes)):
            (self.folder / folder).mkdir(exist_ok=True)

    def start_munge(self):
        place = self.socket.parent
        place.mkdir(mode=0o755, exist_ok=True)
        key = place / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.daemon("munged", find("munged"), "--foreground", "--force", f"--key-file={key}", f"--socket={self.socket}",
                    f"--log-file={place}/log", f"--pid-file={place}/pid", f"--seed-file={place}/seed")
        self.wait_for(self.socket.exists, "munge has its socket")

    def start_node(self, node):
        name_it = 'hostname "$0" && exec "$@"'
        self.daemon(node, find("unshare"), "--uts", "sh", "-c", name_it, node, find("slurmd"), "-D", "-N", node)

    def daemon(self, name, *words):
        log = open(self.folder / f"{name}.out", "ab")
        self.daemons[name] = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                              env=self.environment, start_new_session=True)
        log.close()

    def stop_daemon(self, name):
        process = self.daemons.pop(name)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def __exit__(self, *_):
        if "slurmctld" in self.daemons:
            subprocess.run([find("scancel"), "--user=root"], env=self.environment, capture_output=True)
        for name in reversed(list(self.daemons)):
            self.stop_daemon(name)

    def logs(self):
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-1500:]}" for file in sorted(self.folder.glob("*.log")) +
                         sorted(self.folder.glob("*.out")))

    def wait_for(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            ended = [name for name, process in self.daemons.items() if process.poll() is not None]
            if ended or time.monotonic() > end:
                raise RuntimeError(f"waited in vain until {what} ({', '.join(ended) or 'nobody'} ended)\n{self.logs()}")
            time.sleep(0.1)

    def output(self, *words):
        done = subprocess.run([str(word) for word in words], env=self.environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    def all_idle(self):
        return sorted(self.output("sinfo", "-h", "-N", "-o", "%N %t").split("\n")) == sorted(["", *(f"{node} idle" for node in self.nodes)])

    def state_of(self, job):
        """PENDING, RUNNING, COMPLETED, TIMEOUT, … of a job's number."""
        words = self.output("scontrol", "show", "job", job).split()
        return next((word.split("=")[1] for word in words if word.startswith("JobState=")), "UNKNOWN")
