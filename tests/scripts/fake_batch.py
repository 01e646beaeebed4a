#!/usr/bin/env python3
"""Fake batch systems for tests: PBS, LSF and Fujitsu's TCS, whose real commands are not to be had here. Called by the name of the
command that it stands for (links in a folder of PATH). Checks the arguments that the real one would get, runs the script at once in
the background, and writes what it was told into $FAKE_BATCH.

Its launchers start the ranks as processes of this host, with the variables that the real ones set; they bind nothing."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

FOLDER = pathlib.Path(os.environ["FAKE_BATCH"])
NAME, WORDS = pathlib.Path(sys.argv[0]).name, sys.argv[1:]


def refuse(why):
    sys.exit(f"fake {NAME}: {why}")


def submit(script, prefix, needed, variables, answer):
    """Runs `script` in a session of its own; the batch system's directives must be among `needed`."""
    directives = [line for line in script.read_text().split("\n") if line.startswith(f"#{prefix} ")]
    for pattern in needed:
        if not any(re.fullmatch(f"#{prefix} {pattern}", line) for line in directives):
            refuse(f"no directive {pattern} in {directives}")
    number = str(1000 + len(list(FOLDER.glob("job-*"))))
    (FOLDER / f"job-{number}").write_text("\n".join(directives))
    (FOLDER / f"running-{number}").touch()
    environment = {**os.environ, **{name: number for name in variables}}
    # The mark goes when the script has ended, however it has.
    subprocess.Popen(["/bin/sh", "-c", 'bash "$1" >"$3.out" 2>&1; rm "$2"', "job", str(script), str(FOLDER / f"running-{number}"),
                      str(FOLDER / f"job-{number}")], env=environment, start_new_session=True, stdin=subprocess.DEVNULL)
    print(answer.format(number))


def state(number, running, ended):
    if not (FOLDER / f"job-{number}").exists():
        refuse(f"unknown job {number}")
    print(running if (FOLDER / f"running-{number}").exists() else ended)


def launch(count_flag, rank, size, known):
    """Starts the ranks; every word before the program must be a known flag with its value."""
    words = list(WORDS)
    flags = {}
    while words and words[0].startswith("-"):
        if words[0] not in known:
            refuse(f"unknown flag {words[0]}")
        flag = words.pop(0)
        flags[flag] = " ".join(words.pop(0) for _ in range(2 if flag == "--mca" else 1))
    with open(FOLDER / "launched", "a") as log:
        log.write(json.dumps([NAME, flags]) + "\n")
    count = int(flags[count_flag])
    # If hosts are named, each rank is on its own by its host name (needs root).
    hosts = flags.get("--hosts", "").split(",")
    if hosts == [""] and "--ppn" in flags and "PBS_NODEFILE" in os.environ:
        hosts = pathlib.Path(os.environ["PBS_NODEFILE"]).read_text().split()
    on = [["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host] if host else [] for host in hosts * count]
    ranks = [subprocess.Popen(on[i] + words, env={**os.environ, rank: str(i), size: str(count)}) for i in range(count)]
    sys.exit(max(process.wait() for process in ranks))


def check_processes_of_fujitsu():
    """A job of TCS starts at most the processes a node that it has requested."""
    directives = (FOLDER / f"job-{os.environ['PJM_JOBID']}").read_text()
    nodes, of_each = (int(re.search(pattern, directives)[1]) for pattern in (r"-L node=(\d+)", r"max-proc-per-node=(\d+)"))
    count = int(WORDS[WORDS.index("-n") + 1])
    if count > nodes * of_each:
        refuse(f"{count} processes on {nodes} nodes of at most {of_each}")


def only_script():
    if len(WORDS) != 1:
        refuse(f"one script was expected, not {WORDS}")
    return pathlib.Path(WORDS[0])


if NAME == "qsub":
    submit(only_script(), "PBS", [r"-N assay-\S+", r"-l select=\d+", r"-l walltime=\d\d:\d\d:\d\d", "-q q", "-A a"],
           ["PBS_JOBID"], "{}.fake")
elif NAME == "qstat":
    used = f"Job Id: x|resources_used.walltime={time.monotonic_ns()}|job_state="  # other at each question
    state(WORDS[-1].removesuffix(".fake"), used + "R", used + "F")
elif NAME == "bsub":
    if WORDS:
        refuse(f"the script on standard input was expected, not {WORDS}")
    (FOLDER / "stdin.sh").write_text(sys.stdin.read())
    submit(FOLDER / "stdin.sh", "BSUB", [r"-J assay-\S+", r"-nnodes \d+", r"-W \d\d:\d\d", "-q q", "-P a"], ["LSB_JOBID"],
           "Job <{}> is submitted to queue <q>.")
elif NAME == "bjobs":
    state(WORDS[-1], "RUN", "DONE")
elif NAME == "pjsub":
    submit(only_script(), "PJM", [r"-N assay-\S+", r"-L node=\d+", r"-L elapse=\d\d:\d\d:\d\d", r"--mpi max-proc-per-node=\d+",
                                  "-L rscgrp=q", "-g a"],
           ["PJM_JOBID"], "[INFO] PJM 0000 pjsub Job {} submitted.")
elif NAME == "pjstat":
    state(WORDS[-1], "ST\nRUN", "ST\nEXT")
elif NAME == "mpiexec":
    if "PJM_JOBID" in os.environ:
        check_processes_of_fujitsu()
    # Fujitsu's takes its placement from the job (max-proc-per-node), and has none of the flags of PALS.
    launch("-n", "PMI_RANK", "PMI_SIZE",
           ["-n", "--mca"] if "PJM_JOBID" in os.environ else ["-n", "--ppn", "--hosts", "--depth", "--cpu-bind"])
elif NAME == "jsrun":
    launch("--nrs", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", ["--nrs", "--tasks_per_rs", "--rs_per_host", "--cpu_per_rs", "--bind"])
else:
    refuse("is no command that it knows")
