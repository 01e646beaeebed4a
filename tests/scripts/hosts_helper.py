"""Two hosts on one machine: network and UTS namespaces, joined by a virtual cable. Open MPI starts its daemons through an agent
that enters the namespace, in place of ssh."""
import os
import pathlib
import shutil
import subprocess

HOSTS = {"assaynode0": "10.213.77.1", "assaynode1": "10.213.77.2"}


def why_not():
    """Why this machine cannot do it, or None."""
    for program in ("ip", "unshare", "mpirun.openmpi"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"assay-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    tried = subprocess.run(["ip", "netns", "exec", name, "unshare", "--uts", "--mount", "hostname", "x"], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "delete", name], capture_output=True)
    if made.returncode or tried.returncode:
        return f"namespaces are forbidden here ({(made.stderr + tried.stderr).strip()})"
    return None


class Hosts:
    """The two hosts, from `with` to its end."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.spaces = {host: f"{host}-{os.getpid()}" for host in HOSTS}
        self.cables = [f"assay{os.getpid()}{end}"[-15:] for end in "ab"]  # an interface's name has at most 15 characters

    def __enter__(self):
        self.files = self.folder / "hosts"
        self.files.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {host}\n" for host, address in HOSTS.items()))
        self.ip("link", "add", self.cables[0], "type", "veth", "peer", "name", self.cables[1])
        for (host, address), cable in zip(HOSTS.items(), self.cables):
            self.ip("netns", "add", self.spaces[host])
            self.ip("link", "set", cable, "netns", self.spaces[host])
            self.inside(host, "addr", "add", f"{address}/24", "dev", cable)
            self.inside(host, "link", "set", cable, "up")
            self.inside(host, "link", "set", "lo", "up")
        self.agent = self.folder / "agent"
        # Called as `agent HOST COMMAND…`, the command in the words of a shell.
        cases = "".join(f"  {host}) space={space} ;;\n" for host, space in self.spaces.items())
        self.agent.write_text(f"#!/bin/sh\nhost=$1\nshift\ncase $host in\n{cases}esac\n"
                              f"exec {' '.join(self.enter('$host', '$space'))} sh -c \"$*\"\n")
        self.agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        for space in self.spaces.values():
            subprocess.run(["ip", "netns", "delete", space], capture_output=True)
        subprocess.run(["ip", "link", "delete", self.cables[0]], capture_output=True)

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    def inside(self, host, *words):
        self.ip("-n", self.spaces[host], *words)

    def enter(self, host, space):
        script = self.folder / "enter"
        script.write_text(f"#!/bin/sh\nhostname \"$1\"\nmount --bind {self.files} /etc/hosts\nshift\nexec \"$@\"\n")
        script.chmod(0o755)
        return ["ip", "netns", "exec", space, "unshare", "--uts", "--mount", str(script), host]

    def on_first(self, *words):
        """A command as it is started on the first host."""
        host = next(iter(HOSTS))
        return [*self.enter(host, self.spaces[host]), *map(str, words)]

    def mpirun(self, ranks):
        """The launcher's words: as many ranks on each host. Each host's daemon believes that all processors are its own, so it would
        bind its ranks to the same ones as the other does, where they would spin for a slice of the scheduler a message."""
        each = ",".join(f"{host}:{ranks // 2}" for host in HOSTS)
        return ["mpirun.openmpi", "-n", str(ranks), "--host", each, "--mca", "plm_rsh_agent", str(self.agent),
                "--mca", "btl", "tcp,vader,self", "--mca", "btl_tcp_if_include", "10.213.77.0/24",
                "--mca", "oob_tcp_if_include", "10.213.77.0/24",
                "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]

    def cut(self):
        self.inside(next(iter(HOSTS)), "link", "set", self.cables[0], "down")
