"""Two "builds" on this machine, the same programs with other settings of the faulty plugin, compared as a person does:
`assay run --against`, then `assay compare --confirm`."""
import json
import os
import pathlib
import shlex
import subprocess


def environment(build):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_FAULT")}
    return {**clean, "ASSAY_PLUGIN_PATH": str(pathlib.Path(build) / "tests" / "plugins"), "ASSAY_FAULT_INNER": "reference",
            "OMP_NUM_THREADS": "1"}


def suite(folder, problems, backend, max_time=0.05):
    file = pathlib.Path(folder) / "suite.json"
    file.write_text(json.dumps({"schema": "assay-suite/1", "name": "short", "timing": {"max_time": max_time}, "cases": [
        {"benchmark": "conv", "problem": list(problems), "backend": [backend], "algorithm": ["direct"], "direction": ["forward"],
         "precision": ["fp32"], "threads": [1]}]}))
    return file


def build_with(build, folder, **settings):
    """A folder of programs that run this build's with more settings of the environment."""
    programs = pathlib.Path(folder)
    programs.mkdir(parents=True)
    for real in (pathlib.Path(build) / "bin").glob("assay-*"):
        program = programs / real.name
        words = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in settings.items())
        program.write_text(f"#!/bin/sh\nexec env {words} {shlex.quote(str(real))} \"$@\"\n")
        program.chmod(0o755)
    return programs


def compared(build, suite_file, folder, other):
    """The document of a comparison: this build as base, `other` as new, 5 + 5 launches and 12 + 12 of what is flagged."""
    folder, assay = pathlib.Path(folder), str(pathlib.Path(build) / "bin" / "assay")

    def call(*words, codes):
        done = subprocess.run([assay, *map(str, words)], env=environment(build), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, stdin=subprocess.DEVNULL)
        if done.returncode not in codes:
            raise RuntimeError(f"assay {words[0]} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    run = folder / "run"
    # There are no ceilings: a verdict does not look at them, and their bracket would take longer than the suite.
    call("run", suite_file, "--out", run, "--launches", 5, "--no-ceilings", "--against", other, codes=[0])
    return json.loads(call("compare", run, run / "against", "--vary", "nothing", "--confirm", folder / "fresh", "--new-build", other, "--format", "json",
                           codes=[0, 4, 5]))
