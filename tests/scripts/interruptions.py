"""Faults of signals, journals, disks and checkpoints, and the judge of what is kept: nothing that was finished is lost, nothing
that was damaged becomes a result, and nothing is left behind.

faults() lists all of them in a fixed order; test_interruptions.py runs a sample, test_interruptions_full.py all.
"""
import functools
import json
import os
import pathlib
import random
import shutil
import signal
import tempfile
import time

from bad_inputs import CODES, told
from fault_helper import Place, key, lines_of, read, rows_of, rows_of_text
from run_helper import ASSAY, BIN, event_of

PROBLEMS = [f"mb{n}ic8ih8oc8oh8kh3ph1" for n in range(1, 4)]
SUITE = {"schema": "assay-suite/1", "name": "test", "timing": {"max_time": 0.01}, "ceilings": False, "launches": 2,
         "cases": [{"benchmark": "conv", "problem": PROBLEMS, "backend": ["reference"], "algorithm": ["direct"], "threads": [1]},
                   {"benchmark": "gemm", "problem": ["m8n8k8"], "backend": ["reference"], "threads": [1]}]}
CASES = 8  # of the suite, over its launches
TRAINING = [str(BIN / "assay-resnet50"), "--problem", "d18w4s32c10", "--batch", "16", "--data", "learnable:n96v16", "--epochs", "5",
            "--target", "1", "--unreached", "kept", "--backend", "native", "--threads", "1", "--max-time", "0.01"]
# Programs that are ended in the midst of several rows.
SEVERAL = {"assay-conv": ["--problem", ",".join(PROBLEMS), "--backend", "reference"], "assay-gemm": ["--problem", "m8n8k8,m9n8k8"],
           "assay-kmeans": ["--problem", "n600d4,n700d4"], "assay-pca": ["--problem", "n600d4,n700d4"],
           "assay-svm": ["--problem", "n600d4,n700d4"], "assay-norm": ["--problem", "mb2ic4ih4,mb4ic4ih4"],
           "assay-rnn": ["--problem", "lstm:8-4-2,gru:8-4-2"], "assay-input": ["--problem", "n8mb4s32,n16mb4s32"],
           "assay-resnet50": ["--problem", "d18w8s32c10", "--batch", "4,8"]}


def check_resumed(place, kept, cases=CASES, by_surprise=False):
    """All rows are there once after --resume, and those that were kept are as they were."""
    words = [ASSAY, "run", "suite.json", "--out", "out", "-q"]
    if lines_of(place.journal):
        words.append("--resume")
    if not place.expect_code({0}, *words):
        return
    rows = json.loads((place.out / "result.json").read_text())["rows"]
    good = [row for row in rows if row["status"] == "ok"]  # a failed one stands before its repetition
    place.expect(len({key(row)[:2] for row in good}) == len(good) == cases, f"{len(good)} good rows of {cases}")
    lost = {key(row) for row in kept if row["status"] == "ok"} - {key(row) for row in rows}
    place.expect(not lost, f"lost {[entry[:2] for entry in lost]}")
    place.expect_code({0}, ASSAY, "validate", "out/result.json")
    place.expect_nothing_left(by_surprise)


def children_of(process):
    try:
        return [int(pid) for pid in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    except OSError:
        return []


def signal_run(place, number, target, lines):
    """A signal to a run, to its benchmark or to both, when its journal has so many lines."""
    process = place.start([ASSAY, "run", "suite.json", "--out", "out", "-q", "--timeout", "20"])
    kept = []
    if place.wait_for(process, lambda: len(lines_of(place.journal)) >= lines):
        kept = rows_of(place.journal)  # what is written while the run is being ended does not count
        try:
            if target == "benchmark":
                for child in children_of(process):
                    os.kill(child, number)
            else:
                (os.killpg if target == "both" else os.kill)(process.pid, number)
        except ProcessLookupError:
            pass
    code, said = place.end(process)
    place.expect(code in (CODES if target == "benchmark" else {0, 7, -number}), f"ends with {code}: {said[-300:]}")
    place.expect(code == 0 or said.strip(), f"ends with {code} without a word") if code >= 0 else None
    place.expect_nothing_left(by_surprise=number in (signal.SIGKILL, signal.SIGQUIT) and target != "benchmark")
    check_resumed(place, kept)


def signal_rank(place, number, lines):
    """A signal to one rank of two."""
    place.suite.write_text(json.dumps({**SUITE, "launches": 1, "cases": [
        {"benchmark": "collectives", "problem": ["8", "64", "512"], "operation": ["allreduce"], "transport": ["mpi"], "ranks": [2]}]}))
    process = place.start([ASSAY, "run", "suite.json", "--out", "out", "-q", "--timeout", "20"])
    if place.wait_for(process, lambda: len(lines_of(place.journal)) >= lines):
        kept = rows_of(place.journal)
        ranks = [entry.parent.name for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                 if read(entry).startswith(str(BIN / "assay-collectives").encode()) and str(place.out).encode() in read(entry)]
        place.injected = bool(ranks)
        for rank in ranks[-1:]:
            os.kill(int(rank), number)
        code, said = place.end(process)
        place.expect(code in (0, 7), f"ends with {code}: {said[-300:]}")
        place.expect_nothing_left(False)
        check_resumed(place, kept, 3)
    else:
        place.end(process)


def endure(place, seed):
    """A run that is ended again and again comes to the same end."""
    chance, kept = random.Random(seed), []
    for _ in range(8):
        process = place.start([ASSAY, "run", "suite.json", "--out", "out", "-q", *(["--resume"] if lines_of(place.journal) else [])])
        earlier = {key(row) for row in rows_of(place.journal)}  # some of them came too late to count
        more = len(lines_of(place.journal)) + chance.randrange(1, 9)
        if not place.wait_for(process, lambda: len(lines_of(place.journal)) >= more):
            place.end(process)
            break
        kept += [row for row in rows_of(place.journal) if key(row) not in earlier]
        process.send_signal(chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
        place.end(process)
    place.injected = bool(kept)
    check_resumed(place, kept, by_surprise=True)


def signal_reader(place, made, what, number, delay):
    """A command that writes a file of results is ended: the file is whole, or the one before."""
    written = place.folder / "written"
    result = made / "out" / "result.json"
    sources = {"gather": [made / "out"], "compare": [result, result]}.get(what, [result])
    words = [ASSAY, what, *sources, "--out", written]
    if what != "gather":
        written.write_text("before")
    process = place.start(words)
    time.sleep(delay)
    process.send_signal(number)
    code, said = place.end(process)
    place.expect(code in (0, 2, -number), f"ends with {code}: {said[-300:]}")
    place.expect_nothing_left(by_surprise=number == signal.SIGKILL)
    if what == "gather":
        place.expect(code != 0 or written.exists(), "exit 0 and nothing written")
    else:
        text = written.read_text()
        place.expect(text == "before" or text.endswith("\n"), f"half a file: {text[-40:]!r}")


def signal_program(place, name, number, rows, *more):
    """A signal to a program of its own, when so many of its rows are finished: `assay recover` makes them a result."""
    journal = place.folder / "x.json.journal.jsonl"
    words = [BIN / name, *SEVERAL[name], "--threads", "1", "--max-time", "0.05", "--out", "x.json", *more]
    process = place.start(words)
    if place.wait_for(process, lambda: journal.exists() and lines_of(journal) and len(rows_of(journal)) >= rows):
        process.send_signal(number)
    code, said = place.end(process)
    place.expect(code in (0, -number), f"ends with {code}: {said[-300:]}")
    place.expect_nothing_left(by_surprise=number == signal.SIGKILL)
    if code != 0 and rows_of(journal):
        kept = [key(row) for row in rows_of(journal)]
        place.expect(number == signal.SIGKILL or "assay recover" in said, f"does not say how to recover: {said[-300:]}")
        if place.expect_code({0}, ASSAY, "recover", journal.name):
            place.expect([key(row) for row in json.loads((place.folder / "x.json").read_text())["rows"]] == kept, "recovered other rows")
            place.expect_code({0, 6}, ASSAY, "validate", "x.json")
    elif code != 0:
        place.expect(not (place.folder / "x.json").exists(), "a result without a row")
        if journal.exists() and place.expect(number == signal.SIGKILL, "a journal without a row is left") and lines_of(journal):
            place.expect_code({6}, ASSAY, "recover", journal.name)
    place.expect_code({0, 9}, *words)
    place.expect_code({0}, ASSAY, "validate", "x.json")


def damages(text, chance):
    """(name, damaged text) of a journal."""
    lines = text.splitlines(keepends=True)
    joined = b"".join
    yield "empty", b""
    for place in [*(len(text) * part // 16 for part in range(1, 16)), len(text) - 1, len(text) - 2]:
        yield f"cut at {place}", text[:place]
    for _ in range(24):
        place = chance.randrange(len(text) - 1)
        yield f"bit of byte {place}", text[:place] + bytes([text[place] ^ 1 << chance.randrange(8)]) + text[place + 1:]
    for number in range(len(lines)):
        yield f"without line {number + 1}", joined(lines[:number] + lines[number + 1:])
        yield f"line {number + 1} twice", joined(lines[:number + 1] + lines[number:])
    for number in range(len(lines) - 1):
        yield f"lines {number + 1} and {number + 2} swapped", joined(lines[:number] + [lines[number + 1], lines[number]] + lines[number + 2:])
    for size in (1, 512, 4096):
        place = chance.randrange(len(text))
        yield f"{size} zeros at {place}", text[:place] + b"\0" * size + text[place + size:]
        yield f"{size} zeros at the end", text + b"\0" * size
    yield "carriage returns", text.replace(b"\n", b"\r\n")
    yield "a mark of UTF-8", b"\xef\xbb\xbf" + text
    yield "twice", text + text
    yield "a further line", text + b"{}\n"


def damage_run(place, made, text):
    """--resume of a damaged journal: refused and untouched, or all rows that it keeps are those that were measured."""
    shutil.copytree(made / "out", place.out)
    place.journal.write_bytes(text)
    result = read(place.out / "result.json")
    honest = {key(row) for row in rows_of(made / "out" / "journal.jsonl")}
    code, said = place.run(ASSAY, "run", "suite.json", "--out", "out", "--resume", "-q")
    if code == 2:
        place.expect("journal" in said, f"does not name the journal: {said[-300:]}")
        place.expect(read(place.journal) == text and read(place.out / "result.json") == result, "was refused and touched")
        return
    # 6: rows of a process whose start was removed have an environment that is not known.
    if not place.expect(code in (0, 6), f"ends with {code}: {said[-300:]}"):
        return
    rows = json.loads((place.out / "result.json").read_text())["rows"]
    place.expect(len({key(row)[:2] for row in rows}) == len(rows) == CASES, f"{len(rows)} rows of {CASES}")
    events = list(map(event_of, lines_of(place.journal)))
    resumed = max(number for number, event in enumerate(events) if event["event"] in ("run", "resume"))
    begun = {(event["id"], event["launch"]) for event in events[resumed:] if event["event"] == "begin"}
    foreign = [key(row)[:2] for row in rows if key(row) not in honest and key(row)[:2] not in begun]
    place.expect(not foreign, f"rows that were never measured: {foreign}")
    place.expect_code({0}, ASSAY, "validate", "out/result.json")


def damage_program(place, made, text):
    """`assay recover` of a damaged journal."""
    journal = place.folder / "x.json.journal.jsonl"
    journal.write_bytes(text)
    honest = [key(row) for row in rows_of(made / "x.json.journal.jsonl")]
    code, said = place.run(ASSAY, "recover", journal.name)
    if code == 2:
        place.expect(journal.name in said, f"does not name the journal: {said[-300:]}")
        place.expect(read(journal) == text and not (place.folder / "x.json").exists(), "was refused and touched")
    elif place.expect(code == 0 or (code == 6 and not rows_of_text(text)), f"ends with {code}: {said[-300:]}") and code == 0:
        rows = [key(row) for row in json.loads((place.folder / "x.json").read_text())["rows"]]
        place.expect(len(set(rows)) == len(rows) and set(rows) <= set(honest), "rows that were never measured")
        place.expect_code({0, 6}, ASSAY, "validate", "x.json")


def small_disk(place, what, made, limit):
    """No file may be longer than `limit`: a clean end with the name of what could not be written, and nothing half."""
    words = {"run": [ASSAY, "run", "suite.json", "--out", "out", "-q"],
             "program": [BIN / "assay-conv", *SEVERAL["assay-conv"], "--max-time", "0.01", "--out", "x.json"],
             "training": [*TRAINING, "--checkpoint", "kept", "--out", "x.json"],
             "table": [ASSAY, "table", made / "out" / "result.json", "-o", "written.md"],
             "report": [ASSAY, "report", made / "out" / "result.json", "-o", "written.html"],
             "gather": [ASSAY, "gather", made / "out", "--out", "written"]}[what]
    code, said = place.run(*words, limit=limit)
    place.expect(code in (0, 2, 7), f"ends with {code}: {said[-300:]}")
    place.expect(code == 0 or said.strip(), "fails without a word")
    place.expect_nothing_left(False)
    if what == "run" and code != 0:
        place.expect(not (place.out / "result.json").exists(), "a result of a run that failed")
        check_resumed(place, rows_of(place.journal))
    elif code != 0:
        for file in place.folder.glob("written*"):
            place.expect(file.is_dir() and not list(file.iterdir()), f"{file.name} is half written")
        if what != "training":
            for file in place.folder.glob("x.json.journal.jsonl"):
                file.unlink()
            place.expect_code({0}, *words)


def losses(file):
    return {epoch["epoch"]: (epoch["training_loss"], epoch["validation_loss"]) for epoch in json.loads(file.read_text())["rows"][0]["epochs"]}


def signal_training(place, made, number, epochs):
    """A training that is ended after so many epochs goes on from its checkpoint as if it had not been."""
    kept, words = place.folder / "kept", [*TRAINING, "--checkpoint", "kept", "--out", "x.json"]
    process = place.start(words)
    seen = []

    def written():
        mark = kept.stat().st_ino if kept.exists() else None
        if mark and mark not in seen[-1:]:
            seen.append(mark)
        return len(seen) >= epochs

    if place.wait_for(process, written):
        process.send_signal(number)
    code, said = place.end(process)
    place.expect(code in (0, -number), f"ends with {code}: {said[-300:]}")
    if code == 0 or not kept.exists():
        return
    for file in place.folder.glob("x.json.journal.jsonl"):
        file.unlink()
    if place.expect_code({0}, *words, "--restart", "yes"):
        honest, again = losses(made / "x.json"), losses(place.folder / "x.json")
        place.expect(again and all(honest[epoch] == again[epoch] for epoch in again), f"trains otherwise: {honest} {again}")
        place.expect(max(again) == max(honest), "ends at another epoch")


def damage_checkpoint(place, made, at, bit):
    whole = (made / "kept").read_bytes()
    place_of = int(at * (len(whole) - 1))
    damaged = whole[:place_of] if bit is None else whole[:place_of] + bytes([whole[place_of] ^ 1 << bit]) + whole[place_of + 1:]
    (place.folder / "kept").write_bytes(damaged)
    code, said = place.run(*TRAINING, "--epochs", "7", "--checkpoint", "kept", "--restart", "yes", "--out", "x.json")
    place.expect(code == 2 and "kept" in said, f"a damaged checkpoint ends with {code}: {said[-300:]}")
    place.expect((place.folder / "kept").read_bytes() == damaged, "a damaged checkpoint was overwritten")
    place.expect(not (place.folder / "x.json").exists(), "a result of a damaged checkpoint")


def swap(place, what, lines):
    """The folder of a run changes while it runs: it ends, and no result has what was not measured."""
    process = place.start([ASSAY, "run", "suite.json", "--out", "out", "-q"])
    if place.wait_for(process, lambda: len(lines_of(place.journal)) >= lines):
        if what == "folder away":
            shutil.move(place.out, place.folder / "moved")
        elif what == "result is a folder":
            (place.out / "result.json").mkdir(exist_ok=True)
        elif what == "suite changed":
            place.suite.write_text(json.dumps({**SUITE, "launches": 1, "cases": SUITE["cases"][:1]}))
        else:
            place.journal.unlink()
            {"journal away": lambda: None, "journal a pipe": lambda: os.mkfifo(place.journal), "journal a folder": place.journal.mkdir,
             "journal a link": lambda: place.journal.symlink_to("/dev/null"), "journal empty": place.journal.touch}[what]()
    code, said = place.end(process)
    place.expect(code in CODES, f"ends with {code}: {said[-300:]}")
    place.expect(code == 0 or said.strip(), "fails without a word")
    place.expect_nothing_left(by_surprise=what == "folder away")  # with what was being written in it
    result = place.out / "result.json"
    if result.is_file():
        place.expect_code({0}, ASSAY, "validate", "out/result.json")
        count = len(json.loads(result.read_text())["rows"])
        place.expect(code != 0 or count == CASES, f"{count} rows of {CASES}, and exit 0")
    elif what != "folder away":
        place.expect(code != 0, "no result, and exit 0")


def make(folder):
    """The files that the faults of journals and checkpoints damage, made once."""
    place = Place(folder, SUITE)
    place.expect_code({0}, ASSAY, "run", "suite.json", "--out", "out", "-q")
    place.expect_code({0}, *TRAINING, "--checkpoint", "kept", "--out", "x.json")
    process = place.start([BIN / "assay-conv", *SEVERAL["assay-conv"], "--max-time", "5", "--precision-target", "1e-9", "--out", "y.json"])
    journal = folder / "y.json.journal.jsonl"
    place.wait_for(process, lambda: len(rows_of(journal)) == 2)
    process.kill()
    place.end(process)
    journal.rename(folder / "x.json.journal.jsonl")
    assert not place.found, place.found


def faults(made):
    """(name, function of a Place)."""

    def fault(function, *arguments):
        return f"{function.__name__}{arguments}".replace(str(made), ""), functools.partial(call, function, arguments)

    def call(function, arguments, place):
        function(place, *arguments)

    for target, numbers in (("run", "INT TERM HUP QUIT KILL"), ("both", "INT TERM KILL"), ("benchmark", "TERM KILL SEGV")):
        for number in numbers.split():
            for lines in range(0, 24, 2):
                yield fault(signal_run, signal.Signals[f"SIG{number}"], target, lines)
    for name in SEVERAL:
        for number in "INT TERM HUP KILL".split():
            for rows in range(2):
                yield fault(signal_program, name, signal.Signals[f"SIG{number}"], rows)
        for number in "INT TERM KILL".split():
            yield fault(signal_program, name, signal.Signals[f"SIG{number}"], 1, "--launches", "2")
    for number in "TERM KILL STOP SEGV".split():
        for lines in range(1, 7):
            yield fault(signal_rank, signal.Signals[f"SIG{number}"], lines)
    for seed in range(12):
        yield fault(endure, seed)
    for what in ("table", "report", "compare", "gather"):
        for number in "INT TERM KILL".split():
            for delay in (0.005, 0.02, 0.04, 0.08):
                yield fault(signal_reader, made, what, signal.Signals[f"SIG{number}"], delay)
    for function, journal in ((damage_run, made / "out" / "journal.jsonl"), (damage_program, made / "x.json.journal.jsonl")):
        for name, text in damages(journal.read_bytes(), random.Random(7)):
            yield f"{function.__name__}({name})", functools.partial(call, function, (made, text))
    for what in ("run", "program", "training", "table", "report", "gather"):
        for limit in (0, 1, 100, 1000, 4096, 8000, 16000, 30000, 50000, 100000):
            yield fault(small_disk, what, made, limit)
    for number in "INT TERM KILL".split():
        for epochs in range(1, 5):
            yield fault(signal_training, made, signal.Signals[f"SIG{number}"], epochs)
    for at in [part / 16 for part in range(17)]:
        yield fault(damage_checkpoint, made, at, None if at < 1 else 0)
        yield fault(damage_checkpoint, made, at, int(at * 112) % 8)
    for what in ("folder away", "result is a folder", "suite changed", "journal away", "journal a pipe", "journal a folder",
                 "journal a link", "journal empty"):
        for lines in range(1, 16, 2):
            yield fault(swap, what, lines)


def judge(fault):
    name, function = fault
    with tempfile.TemporaryDirectory(prefix="assay-fault-", ignore_cleanup_errors=True) as folder:
        place = Place(pathlib.Path(folder), SUITE)
        try:
            function(place)
        except Exception as error:  # a judge that falls is a fault, too
            place.found.append(f"{type(error).__name__}: {error}")
        for process in place.at_work():
            os.kill(process, signal.SIGKILL)
        return place.injected, [f"{name}: {what}" for what in place.found]


def judge_all(count=None):
    """The number of faults that were injected (a process may end before), and those that were not handled, printed as
    they are found; with `count` a sample, the same each time."""
    with tempfile.TemporaryDirectory(prefix="assay-faults-") as name:
        made = pathlib.Path(name)
        make(made)
        chosen = list(faults(made))
        if count is not None:
            chosen = random.Random(40).sample(chosen, count)
        injected = []

        def judged(fault):
            came, found = judge(fault)
            injected.append(came)
            return found

        found = [fault for each in told(judged, chosen) for fault in each]
    return sum(injected), found
