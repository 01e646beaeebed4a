"""Launches of two sides in turn, each a run of its own: what `assay compare` is asked about on a real machine."""
import json
import os
import pathlib
import re
import subprocess


def plugin_environment(build, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_FAULT")}
    environment.update({"ASSAY_PLUGIN_PATH": str(pathlib.Path(build) / "tests" / "plugins"), "ASSAY_FAULT_INNER": "reference",
                        "OMP_NUM_THREADS": "1"}, **more)
    return environment


def suite(folder, problems, backend, max_time=0.05):
    file = pathlib.Path(folder) / "suite.json"
    file.write_text(json.dumps({"schema": "assay-suite/1", "name": "short", "timing": {"max_time": max_time}, "cases": [
        {"benchmark": "conv", "problem": list(problems), "backend": [backend], "algorithm": ["direct"], "direction": ["forward"],
         "precision": ["fp32"], "threads": [1]}]}))
    return file


def launch(assay, suite_file, folder, sides, count, ids=None):
    """`count` launches of each side, in the order A B B A: folder/<side>/<n>. sides: name -> environment."""
    words = ["--filter", "^(" + "|".join(re.escape(one).replace("/", "\\/") for one in ids) + ")$"] if ids else []
    for number in range(count):
        order = list(sides.items())
        for name, environment in order if number % 2 == 0 else order[::-1]:
            done = subprocess.run([assay, "run", str(suite_file), "--out", str(pathlib.Path(folder) / name / f"{number:02d}"), *words],
                                  env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                raise RuntimeError(f"assay run ended with {done.returncode}: {done.stderr}")


def screened_and_confirmed(assay, suite_file, folder, sides, vary="nothing"):
    """The comparison document of two sides: 5 + 5 launches, then 12 + 12 of what is flagged."""
    folder = pathlib.Path(folder)
    first, second = sides

    def compare(*words):
        done = subprocess.run([assay, "compare", str(folder / "screen" / first), str(folder / "screen" / second), "--vary", vary,
                               "--format", "json", "--flagged", str(folder / "flagged.json"), *map(str, words)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        if done.returncode not in (0, 4, 5):
            raise RuntimeError(f"assay compare ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    launch(assay, suite_file, folder / "screen", sides, 5)
    screen = compare()
    flagged = json.loads((folder / "flagged.json").read_text())
    if not flagged:
        return screen
    launch(assay, suite_file, folder / "fresh", sides, 12, flagged)
    return compare("--fresh-base", folder / "fresh" / first, "--fresh-new", folder / "fresh" / second)
