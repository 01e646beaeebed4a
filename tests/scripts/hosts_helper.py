"""Hosts on one machine: network and UTS namespaces, joined by virtual cables to a switch. Open MPI starts its daemons through an agent
that enters the namespace, in place of ssh."""
import os
import pathlib
import shutil
import subprocess

def hosts_of(count):
    return {f"assaynode{i}": f"10.213.77.{i + 1}" for i in range(count)}


HOSTS = hosts_of(2)


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
    """The hosts, from `with` to its end."""

    def __init__(self, folder, count=2):
        self.folder = pathlib.Path(folder)
        self.hosts = hosts_of(count)
        self.spaces = {host: f"{host}-{os.getpid()}" for host in self.hosts}
        self.switch = f"assayswitch-{os.getpid()}"
        # An interface's name has at most 15 characters.
        self.cables = {host: [f"a{os.getpid()}{end}{i}"[-15:] for end in "hs"] for i, host in enumerate(self.hosts)}

    def __enter__(self):
        self.files = self.folder / "hosts"
        self.files.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {host}\n" for host, address in self.hosts.items()))
        self.ip("netns", "add", self.switch)
        self.ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        self.ip("-n", self.switch, "link", "set", "bridge", "up")
        for host, address in self.hosts.items():
            here, there = self.cables[host]
            self.ip("link", "add", here, "type", "veth", "peer", "name", there)
            self.ip("netns", "add", self.spaces[host])
            self.ip("link", "set", here, "netns", self.spaces[host])
            self.ip("link", "set", there, "netns", self.switch)
            self.inside(host, "addr", "add", f"{address}/24", "dev", here)
            self.inside(host, "link", "set", here, "up")
            self.inside(host, "link", "set", "lo", "up")
            self.ip("-n", self.switch, "link", "set", there, "master", "bridge", "up")
        self.agent = self.folder / "agent"
        # Called as `agent HOST COMMAND…`, the command in the words of a shell.
        cases = "".join(f"  {host}) space={space} ;;\n" for host, space in self.spaces.items())
        self.agent.write_text(f"#!/bin/sh\nhost=$1\nshift\ncase $host in\n{cases}esac\n"
                              f"exec {' '.join(self.enter('$host', '$space'))} sh -c \"$*\"\n")
        self.agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        for space in (*self.spaces.values(), self.switch):
            subprocess.run(["ip", "netns", "delete", space], capture_output=True)

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
        host = next(iter(self.hosts))
        return [*self.enter(host, self.spaces[host]), *map(str, words)]

    def mpirun(self, ranks, hosts=None):
        """The launcher's words: as many ranks on each host (or these `hosts`, with commas). Each host's daemon believes that all processors are its own, so it would
        bind its ranks to the same ones as the other does, where they would spin for a slice of the scheduler a message."""
        each = hosts or ",".join(f"{host}:{ranks // len(self.hosts)}" for host in self.hosts)
        return ["mpirun.openmpi", "-n", str(ranks), "--host", each, "--mca", "plm_rsh_agent", str(self.agent),
                "--mca", "btl", "tcp,vader,self", "--mca", "btl_tcp_if_include", "10.213.77.0/24",
                "--mca", "oob_tcp_if_include", "10.213.77.0/24",
                "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]

    def cut(self):
        host = next(iter(self.hosts))
        self.inside(host, "link", "set", self.cables[host][0], "down")

    def shape(self, host, mbit, slow=None, to=None):
        """Limits what the host sends, and what is sent to it, to mbit/s; `slow`: instead, or where `to` is given what it sends there."""
        for space, end in zip((self.spaces[host], self.switch), self.cables[host]):
            rate = slow if slow and not to else mbit
            tc = ["ip", "netns", "exec", space, "tc"]
            for words in ([["qdisc", "replace", "dev", end, "root", "handle", "1:", "htb", "default", "1"],
                           ["class", "replace", "dev", end, "parent", "1:", "classid", "1:1", "htb", "rate", f"{rate}mbit", "burst", "32k"]]
                          + ([["class", "replace", "dev", end, "parent", "1:", "classid", "1:2", "htb", "rate", f"{slow}mbit", "burst", "32k"],
                              ["filter", "add", "dev", end, "protocol", "ip", "parent", "1:", "u32", "match", "ip", "dst",
                               self.hosts[to], "flowid", "1:2"]] if to and space != self.switch else [])):
                subprocess.run([*tc, *words], check=True, capture_output=True, text=True)
