"""Documents of `assay compare`, `model`, `history` and `accept` for the tests of the report, made up and valid."""

import math
import random

# Text that a page must not take for markup.
HOSTILE = "<b>bold</b><img src=x onerror=alert(1)></script><script>alert(2)</script>"


def comparison():
    verdicts = ["slower", "faster", "same", "inconclusive", None]
    rows = []
    for i in range(12):
        verdict, ratio = verdicts[i % 5], (1.07, 0.91, 1.001, 1.03, 1.2)[i % 5]
        side = {"median": 1e-3 * (i + 1), "launches": 12, "variation": 0.004, "shared": False, "throttled": False}
        rows.append(
            {
                "id": f"conv/forward/fp32/onednn/direct/mb1c{i:04d}/hot/t2",
                "names": [f"list/case-{i}"],
                "unit": "s",
                "base": side,
                "new": {**side, "median": side["median"] * ratio},
                "ratio": ratio,
                "interval": [ratio * 0.99, ratio * 1.01] if verdict else None,
                "speedup": 1 / ratio,
                "speedup_interval": [1 / (ratio * 1.01), 1 / (ratio * 0.99)] if verdict else None,
                "p": 1e-5 if verdict else None,
                "p_limit": 1e-4 if verdict else None,
                "minimum_detectable": 0.012 if verdict else None,
                "tolerance": 0.02,
                "stage": "confirmed",
                "flagged": i % 5 < 2,
                "detected": i % 5 < 2,
                "screen": None,
                "verdict": verdict,
                "reason": "more launches would resolve it <u>here</u>" if verdict == "inconclusive" else None,
                "published": verdict is None,
                "notes": [],
            }
        )
    side = {"name": "results/old", "system": "node", "files": ["results/old/result.json"]}
    return {
        "schema": "assay-comparison/1",
        "command": "assay compare old new --vary software",
        "base": side,
        "new": {**side, "name": HOSTILE},
        "fresh_base": None,
        "fresh_new": None,
        "vary": "software",
        "allow_mismatch": True,
        "refused": False,
        "mismatches": [{"field": "hardware/memory_bytes", "base": {"packed columns": 1}, "new": HOSTILE, "rows": 12}],
        "notes": [HOSTILE],
        "stage": "confirmed",
        "settings": {
            "false_alarm_rate": 0.01,
            "tolerance": 0.02,
            "confidence": 0.95,
            "screen_p": 0.05,
            "flagged": 5,
            "confirmed_p": 0.002,
            "power": 0.8,
        },
        "rows": rows,
        "only_base": [{"id": "gone/away", "names": [], "status": "ok"}],
        "only_new": [],
        "not_compared": [{"id": "conv/x", "base_status": "ok", "new_status": "incorrect", "reason": "wrong numerics"}],
        "lost": [],
        "geometric_mean": None,
        "geometric_mean_reason": "a row is incorrect",
        "summary": {"faster": 3, "slower": 3, "same": 2, "inconclusive": 2, "without_verdict": 2, "needs_confirmation": 0},
        "exit_code": 4,
    }


def model():
    terms = [("(Intercept)", -6.0), (f"architecture[{HOSTILE}]", -0.9), ("log(size)", 0.98), ("workload[gemm]", 0.2)]
    coefficients = [
        {
            "term": term,
            "estimate": value,
            "se": 0.03,
            "t": value / 0.03,
            "p": 1e-9,
            "interval": [value - 0.07, value + 0.07],
            "reason": None,
            "speedup": math.exp(-value) if "[" in term else None,
            "speedup_interval": [math.exp(-value - 0.07), math.exp(-value + 0.07)] if "[" in term else None,
            "note": None,
        }
        for term, value in terms
    ]
    noise = random.Random("model")
    observations = [
        {
            "label": f"row {i} <b>",
            "observed": math.exp(i / 4 - 6),
            "fitted": math.exp(i / 4 - 6 + noise.gauss(0, 0.05)),
            "residual": noise.gauss(0, 0.05),
            "leverage": 0.1,
            "published": i % 7 == 0,
        }
        for i in range(40)
    ]
    return {
        "schema": "assay-model/1",
        "command": None,
        "formula": "log(time) ~ architecture + log(size) + workload",
        "response": {"term": "log(time)", "column": "time", "scale": "log", "unit": "s", "better": "lower"},
        "results": [],
        "n": 40,
        "left_out": [],
        "reference": {"architecture": "power8"},
        "coefficients": coefficients,
        "aliased": [{"term": "threads", "because": "architecture determines it"}],
        "r2": 0.98,
        "adjusted_r2": 0.979,
        "sigma": 0.05,
        "df": 36,
        "f": {"value": 900.0, "df1": 3, "df2": 36, "p": 1e-20, "reason": None},
        "cluster": None,
        "confidence": 0.95,
        "validation": [
            {
                "kind": "leave-one-machine-out",
                "left_out": "system=summit",
                "n": 10,
                "rms_error": 0.1,
                "worst_ratio": 1.4,
                "worst": "row 3",
                "reason": None,
            }
        ],
        "observations": observations,
        "predictions": [
            {
                "given": {"architecture": "power9", "size": 1e9},
                "value": 0.01,
                "interval": [0.008, 0.0125],
                "extrapolated": [{"column": "size", "value": 1e9, "observed": [1, 1e8]}],
                "unseen": [],
                "reason": None,
            }
        ],
        "published": True,
        "citations": ["A paper <i>2018</i>"],
        "notes": [],
    }


def history(count=8):
    noise = random.Random("history")
    series = []
    for s in range(count):
        state = ("slower", "steady", "drifting", "faster")[s % 4]
        points = []
        for i in range(40):
            value = (
                1e-3
                * (s + 1)
                * math.exp(noise.gauss(0, 0.004))
                * (
                    1.06
                    if state == "slower" and i >= 25
                    else 1 + 0.002 * i if state == "drifting" else 0.9 if state == "faster" and i >= 20 else 1
                )
            )
            points.append(
                {
                    "time": f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}T12:00:00.000Z",
                    "value": value,
                    "low": value * 0.995,
                    "high": value * 1.006,
                    "launches": 5,
                    "software": "abc",
                    "run": f"run-{i}",
                    "shared": i == 3,
                    "throttled": False,
                }
            )
        last, middle = points[-1]["value"], points[0]["value"]
        changes = (
            [{"time": points[25]["time"], "index": 25, "before": middle, "after": last, "ratio": last / middle, "p": 1e-4}]
            if state == "slower"
            else []
        )
        level = {
            "value": middle,
            "ratio": last / middle,
            "state": "slower" if last / middle > 1.02 else "faster" if last / middle < 0.98 else "steady",
        }
        series.append(
            {
                "id": f"conv/forward/fp32/onednn/direct/mb1c{s:04d}/hot/t2",
                "names": [],
                "benchmark": "conv",
                "hardware": "h",
                "system": HOSTILE if s == 0 else "node",
                "unit": "s",
                "tolerance": 0.02,
                "trend": None,
                "points": points,
                "gaps": (
                    [{"time": "2026-02-20T12:00:00.000Z", "run": "run-x", "status": "failed", "reason": "crashed <b>"}] if s == 0 else []
                ),
                "change_points": changes,
                "change_points_reason": None,
                "events": [{"time": points[24]["time"], "text": "driver <b>550</b>", "kind": "event"}],
                "latest": {"value": last, "low": last, "high": last, "points": 3, "since": points[-3]["time"]},
                "anchored": {**level, "promoted": True, "since": points[0]["time"], "owner": "somebody", "reason": "first", "run": "run-0"},
                "anchored_reason": None,
                "rolling": {**level, "points": 10},
                "rolling_reason": None,
                "state": state,
                "reason": "a change point",
            }
        )
    return {
        "schema": "assay-history/1",
        "command": "assay history results",
        "settings": {
            "tolerance": 0.02,
            "false_alarm_rate": 0.01,
            "level": 0.001,
            "minimum_segment": 5,
            "latest": 3,
            "rolling": 10,
            "anchor": 8,
            "suspect_rate": 0.07,
        },
        "series": series,
        "passed_over": [{"what": "results/x", "reason": "published"}],
        "summary": {
            "too_short": 0,
            **{state: sum(s["state"] == state for s in series) for state in ("steady", "slower", "faster", "drifting")},
        },
        "exit_code": 4,
    }


def acceptance(count=16):
    nodes = []
    for n in range(count):
        verdict = {3: "PERF-FAIL", 5: "INCORRECT", 7: "MISSING", 9: "NOT-QUIET"}.get(n, "PASS")
        factor = 1.08 if n == 3 else 1 + 0.002 * (n % 5)
        rows = (
            []
            if verdict == "MISSING"
            else [
                {
                    "id": f"conv/forward/fp32/onednn/direct/mb1c{i:04d}/hot/t2",
                    "names": [],
                    "status": "incorrect" if n == 5 and i == 2 else "ok",
                    "value": None if n == 5 and i == 2 else 1e-3 * factor,
                    "low": None,
                    "high": None,
                    "launches": 1,
                    "fleet_median": None if n == 5 and i == 2 else 1e-3,
                    "ratio": None if n == 5 and i == 2 else factor,
                    "speedup": None if n == 5 and i == 2 else 1 / factor,
                    "deviation": None,
                    "limit": 1.05,
                    "verdict": "PERF-FAIL" if n == 3 else "INCORRECT" if n == 5 and i == 2 else "PASS",
                    "reason": "8 % slower" if n == 3 else "2 of 8 values are wrong" if n == 5 and i == 2 else None,
                    "disturbed": n == 9,
                    "throttled": False,
                    "checks": [],
                }
                for i in range(6)
            ]
        )
        nodes.append(
            {
                "node": f"node{n:03d}" + ("<b>" if n == 0 else ""),
                "verdict": verdict,
                "reason": {"MISSING": "no row", "NOT-QUIET": "load per core (last minute) before the run at most 0.1: found 0.5"}.get(verdict),
                "score": None if verdict == "MISSING" else factor,
                "speedup": None if verdict == "MISSING" else 1 / factor,
                "rows": rows,
                "rows_missing": 0,
                "health": {"before": None, "after": None, "findings": []},
            }
        )
    ranked = sorted((n for n in nodes if n["score"]), key=lambda n: -n["score"])
    return {
        "schema": "assay-acceptance/1",
        "command": "assay accept results",
        "verdict": "INCORRECT",
        "reason": "node005: its second row",
        "criteria": {"name": "acceptance", "file": "suites/criteria/acceptance.json", "sha256": "0123456789abcdef" * 4, "content": {}},
        "results": [{"file": f"results/nodes/{n['node']}/result.json", "sha256": "fedcba9876543210" * 4} for n in nodes if n["rows"]],
        "limits": [
            {"criterion": "at most 5 % slower than the other nodes", "of": "row", "met": 84, "judged": 90, "unknown": 0},
            {"criterion": "temperature celsius before the run at most 95", "of": "node", "met": 0, "judged": count, "unknown": count},
        ],
        "nodes": nodes,
        "not_compared": None,
        "judged": [],
        "stragglers": [
            {"node": n["node"], "score": n["score"], "speedup": n["speedup"], "rank": i + 1, "deviation": None} for i, n in enumerate(ranked)
        ],
        "unmet": [],
        "optional_unmatched": [],
        "unexpected": [],
        "not_judged": [],
        "summary": {"nodes": count, "pass": count - 4, "not_quiet": 1, "perf_fail": 1, "incorrect": 1, "missing": 1},
        "exit_code": 3,
    }
