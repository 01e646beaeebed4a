#!/usr/bin/env python3
"""Slows one rank down: LAUNCHER slow_rank.py RANK SHARE COMMAND... lets that rank work in SHARE of the time (0.2: a fifth of its speed)."""
import os
import signal
import subprocess
import sys
import time

TURN_S = float(os.environ.get("SLOW_RANK_TURN_S", 0.002))  # shorter than a step: the slow rank answers others between its stops


def slow_down(rank, share):
    while rank.poll() is None:
        time.sleep(TURN_S * share)
        rank.send_signal(signal.SIGSTOP)
        time.sleep(TURN_S * (1 - share))
        rank.send_signal(signal.SIGCONT)


def main():
    slow, share, *command = sys.argv[1:]
    if next((os.environ[name] for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID") if name in os.environ), "") != slow:
        os.execvp(command[0], command)
    rank = subprocess.Popen(command)
    for of in (signal.SIGTERM, signal.SIGINT):
        signal.signal(of, lambda number, _: rank.send_signal(number))
    slow_down(rank, float(share))
    sys.exit(rank.returncode if rank.returncode >= 0 else 128 - rank.returncode)


if __name__ == "__main__":
    main()
