"""Bad inputs for every flag of every program and every kind of file, and the judge of what programs do with them.

commands() lists all of them in a fixed order; test_bad_inputs.py runs a sample, test_bad_inputs_full.py all.
"""
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile

from run_helper import ASSAY, BIN, SMALL, SOURCE

PATIENCE = 120  # seconds until a command counts as hanging; `assay run` waits 60 for a launcher
LONGEST = 4500  # bytes of a message, with the names of the program and of a few files
CODES = {0, 2, 3, 4, 5, 6, 7, 8, 9}
RAW = re.compile(r"json\.exception|std::|basic_string|terminate called|what\(\)|stoi|stod|bad_alloc|Assertion|vector::_M|"
                 r"map::at|Traceback|regex_error|bad variant|bad optional")

# Problems with which a program ends soon if it accepts a value.
QUICK = {"assay-activation": "mb2ic4ih4", "assay-dropout": "mb2ic4ih4",
         "assay-collectives": "8", "assay-conv": SMALL, "assay-gemm": "m8n8k8", "assay-input": "n8mb4s32", "assay-io": "mb1", "assay-kmeans": "n600d4",
         "assay-linalg": "syrk:n64d8", "assay-norm": "mb2ic4ih4", "assay-pca": "n600d4", "assay-pool": "mb1ic2ih8kh3sh2ph1",
         "assay-update": "adam_n64t3", "assay-loss": "mb2c4", "assay-pixel-loss": "mb1c3ih4", "assay-squared-error": "mb2f8", "assay-sum": "n64",
         "assay-convert": "n64", "assay-concat": "mb1ca2cb2ih4", "assay-resize": "mb1ic2ih4oh8",
         "assay-resnet50": "d18w8s32c10", "assay-train": "mlp:i16w4", "assay-rnn": "lstm:8-4-2", "assay-stream": "copy_n1024", "assay-copy": "4K", "assay-svm": "n600d4"}
# Arguments that another program or a subcommand of `assay` needs, with names of the files below.
NEEDS = {"assay-dataset": ["classes:n20d4", "--out", "x.npy"], "collect": ["folder", "--out", "results"],
         "run": ["suite.json", "--out", "out"], "burn": ["suite.json", "--for", "1s", "--out", "out"], "table": ["result.json"], "report": ["result.json"], "validate": ["suite.json"],
         "compare": ["result.json", "other.json", "--vary", "nothing"], "accept": ["result.json"], "history": ["results"],
         "gather": ["results", "--out", "gathered"], "model": ["result.json"], "job": ["suite.json", "--time", "10", "--launcher", "slurm"],
         "ensemble": ["result.json"], "mllog": ["result.json", "--org", "org"], "new": ["backend", "mine"], "recover": ["journal.jsonl"]}
# Flags that make another command of it, with what they need.
MODES = {"run": [["--as-node"], ["--per-node", "--launcher", "mpirun"], ["--pairs", "--launcher", "mpirun", "--hosts", "a,b"]]}
OUTPUTS = {("assay-dataset", "--labels"), "--out", "--benchmark_out", "--journal", "--checkpoint", "--junit", "--flagged", "--markdown", "--json", "--csv"}

LONG = "x" * 5000
TEXTS = ["", LONG, "a\nb", b"\xff\xfe\x80", "\x1b[2J", "turn\u202ed", "-1", "0", "1e999", "nan", "99999999999999999999", "1,,2", ",", "%n%s%n",
         "[", "((((", "../..", "--", "a b", "'", '"', "é" * 2000, "a b " * 1500]
FILES = ["missing.json", "folder", "fifo", "/dev/null", "/dev/zero", "truncated.json", "typed.json", "binary.json", "empty.json", "loop"]
VALUES = [None, True, -1, 0, 1.5, 1e300, 10 ** 30, "", LONG, "a\nb", "\u202e\x1b", [], {}, [[[]]], {"a": 1}]


def make_inputs(folder):
    """The files that commands read, in an empty folder."""
    suite = {"schema": "assay-suite/1", "name": "test", "timing": {"max_time": 0.01}, "ceilings": False, "launches": 1,
             "cases": [{"benchmark": "conv", "problem": [SMALL], "backend": ["reference"], "algorithm": ["direct"], "threads": [1],
                        "tolerance": 0.1, "required": False}]}
    (folder / "suite.json").write_text(json.dumps(suite))
    for name, source in [("criteria.json", "suites/criteria/acceptance.json"), ("launcher.json", "scripts/launchers/mpirun.json")]:
        shutil.copy(SOURCE / source, folder / name)
    site = next((SOURCE / "suites" / "sites").glob("*.json"))
    shutil.copy(site, folder / "site.json")
    (folder / "nodes").write_text("node1\nnode2\n")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    (folder / "truncated.json").write_text(json.dumps(suite)[:100])
    (folder / "typed.json").write_text('{"schema": 3, "cases": {"a": null}, "rows": 7}')
    (folder / "binary.json").write_bytes(bytes(range(256)))
    (folder / "empty.json").write_text("")


def measured_inputs(folder):
    """Two results, the journal of one and a folder of results, made once."""
    for name in ("other.json", "result.json"):
        subprocess.run([ASSAY, "run", "suite.json", "--out", "run"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.move(folder / "run" / "result.json", folder / name)
        shutil.move(folder / "run" / "journal.jsonl", folder / "journal.jsonl")
        shutil.rmtree(folder / "run")
    (folder / "results").mkdir()
    shutil.copy(folder / "result.json", folder / "results" / "result.json")


def help_of(words):
    return subprocess.run([*words, "--help"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def flags_of(text):
    """(flag, whether it has a value) of a --help, but for those that print and end."""
    found = re.findall(r"^  (?:-\w,)?(--[\w-]+)(?:,--[\w-]+)*( [A-Z][A-Z_.,]*)?", text, re.MULTILINE)
    return [(flag, bool(value)) for flag, value in found if flag not in ("--help", "--help-as", "--version")]


def programs():
    """(words that start it, what it needs, every how-many-th value it is given)."""
    for file in sorted(BIN.glob("assay-*")):
        if os.access(file, os.X_OK):
            needs = ["--problem", QUICK[file.name], "--max-time", "0.01"] if file.name in QUICK else NEEDS[file.name]
            yield [str(file)], needs, 1
    for command in re.findall(r"^  ([a-z]+)  ", help_of([ASSAY]), re.MULTILINE):
        if command != "help":
            yield [ASSAY, command], NEEDS.get(command, []), 1
        for mode in MODES.get(command, []):
            yield [ASSAY, command, mode[0]], NEEDS[command] + mode[1:], 3


def flag_commands():
    """(words, the flag that has a bad value, that value)."""
    for words, needs, step in programs():
        for flag, has_value in flags_of(help_of(words)):
            rest = without(needs, flag)
            if not has_value:
                yield [*words, *rest, flag + "=perhaps"], flag, "perhaps"
                continue
            for value in (TEXTS + ([] if OUTPUTS & {flag, (pathlib.Path(words[0]).name, flag)} else FILES))[::step]:
                yield [*words, *rest, flag, value], flag, value
        if words[0] == ASSAY or needs[0][0] != "-":
            for value in (TEXTS + FILES)[::step]:
                yield [*words, value], None, value


def without(words, flag):
    """The words but for a flag and its value."""
    if flag not in words:
        return list(words)
    at = words.index(flag)
    return words[:at] + words[at + 2:]


def places(document, path=()):
    """The paths of all values in a document."""
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


def changed(text, path, value):
    document = json.loads(text)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(document)


READERS = {"suite.json": [[ASSAY, "validate", "suite.json"], [ASSAY, "run", "suite.json", "--list"], [str(BIN / "assay-conv"), "--suite", "suite.json", "--list"]],
           "criteria.json": [[ASSAY, "validate", "criteria.json"], [ASSAY, "accept", "result.json", "--criteria", "criteria.json"]],
           "launcher.json": [[ASSAY, "validate", "launcher.json"], [ASSAY, "run", "suite.json", "--launcher", "launcher.json", "--list"]],
           "site.json": [[ASSAY, "validate", "site.json"]],
           "result.json": [[ASSAY, "validate", "result.json"], [ASSAY, "table", "result.json"]],
           "nodes": [[ASSAY, "gather", "results", "--node-file", "nodes"]]}


def file_commands(folder):
    """(words, file, its bad content)."""
    for name, readers in READERS.items():
        text = (folder / name).read_text()
        contents = [text[:len(text) * part // 7].encode() for part in range(7)] + [text.encode() + b"\xff", b"\0" * 100, b"[" * 100000, b"NaN"]
        if name.endswith(".json"):
            document = json.loads(text)
            contents += [json.dumps(document).replace("0.01", word).encode() for word in ("NaN", "1e999", "-0")]
            contents += [changed(text, path, value).encode() for path in places(document) for value in VALUES]
        else:
            contents += [f"{value}\n".encode() if isinstance(value, str) else value for value in TEXTS]
        for content in contents:
            for words in readers:
                yield words, name, content


def commands(folder, count=None):
    """All commands; with `count` a sample of each kind, the same each time."""
    kinds = [list(flag_commands()), list(file_commands(folder))]
    if count is None:
        return kinds[0] + kinds[1]
    chance = random.Random(40)
    return [entry for kind in kinds for entry in chance.sample(kind, min(count, len(kind)))]


def state_of(folder):
    """The files that a command must leave unchanged."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file() and not file.is_symlink()}


def quoted(value, text):
    """True if a message has a value, be it escaped as messages do or shortened."""
    if isinstance(value, bytes):
        value = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in value)
    shown = value.replace("\n", "\\n").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    return any(bool(form) and form[:40] in text for form in (value, shown))


def faults(words, blamed, value, done, hangs):
    """The fault in the way in which a command ended."""
    if hangs:
        yield "hangs"
        return
    if done.returncode not in CODES:
        yield f"ends with {done.returncode}"
    try:
        text = done.stderr.decode()
    except UnicodeDecodeError:
        yield "prints what is not UTF-8"
        text = done.stderr.decode("utf-8", "replace")
    if raw := RAW.search(text):
        yield f"prints a raw exception ({raw.group()})"
    if controls := {c for c in text if (ord(c) < 32 and c not in "\n\t\x1e") or 127 <= ord(c) < 160 or c in "\u202e\u2028"}:
        yield f"prints control characters {controls}"
    if done.returncode != 2:
        return
    if not text.strip():
        yield "refuses without a word"
        return
    program = pathlib.Path(words[0]).name
    if not text.startswith(program):
        yield f"begins its message with {text[:20]!r}"
    if len(done.stderr) > LONGEST:
        yield f"prints {len(done.stderr)} bytes"
    # A further flag that the flag needs may be told first.
    if blamed is not None and " is missing (" not in text and blamed.lstrip("-").removesuffix(".json") not in text and not quoted(value, text):
        yield "names neither flag nor value"


def judge(command, inputs):
    """Runs a command beside fresh copies of the inputs. The faults, each with what was run and said."""
    words, blamed, value = command
    folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-bad-"))
    try:
        for file in inputs.iterdir():
            if file.is_symlink():
                (folder / file.name).symlink_to(os.readlink(file))
            elif file.is_fifo():
                os.mkfifo(folder / file.name)
            elif file.is_dir():
                shutil.copytree(file, folder / file.name)
            else:
                shutil.copy(file, folder / file.name)
        if blamed is not None and not blamed.startswith("--"):
            (folder / blamed).write_bytes(value)
        before = state_of(folder)
        process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env={**os.environ, "TMPDIR": str(folder / "folder"), "OMP_NUM_THREADS": "1"}, start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        hangs = False
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            hangs = True
            os.killpg(process.pid, signal.SIGKILL)
            _, errors = process.communicate()
        done = subprocess.CompletedProcess(words, process.returncode, b"", errors)
        # A file that stands for a value is named by its own name.
        found = list(faults(words, blamed, value if blamed is None or blamed.startswith("--") else blamed, done, hangs))
        after = state_of(folder)
        found += [f"changes {name}" for name in before if after.get(name) != before[name]]
        shown = [word if len(word) < 60 else word[:25] + (b"..." if isinstance(word, bytes) else "...") for word in words]
        return [f"{fault}: {shown} {blamed}={value[:60]!r}: {errors[:300]!r}" for fault in found]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def told(judge_one, everything):
    """The finding of judge_one() in each; every fault is printed as it is found."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(judge_one, everything):
            for fault in found:
                print(fault, flush=True)
            yield found


def judge_all(count=None):
    """The number of commands that were run, and their faults; each is printed as it is found."""
    with tempfile.TemporaryDirectory(prefix="assay-bad-inputs-") as name:
        inputs = pathlib.Path(name)
        make_inputs(inputs)
        measured_inputs(inputs)
        all_commands = commands(inputs, count)
        return len(all_commands), [fault for found in told(lambda command: judge(command, inputs), all_commands) for fault in found]
