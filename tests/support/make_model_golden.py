#!/usr/bin/env python3
"""Makes tests/golden/model/*.json: data, and what statsmodels and patsy say of them (pip install statsmodels; not needed to test).

Each file has the observations, the formula, and the numbers that `assay model` must give to 1e-9. Run it without arguments.
"""
import itertools
import json
from pathlib import Path

import numpy as np
import pandas
import patsy
import scipy.stats
import statsmodels
import statsmodels.api as sm

FOLDER = Path(__file__).resolve().parent.parent / "golden" / "model"

# Walltime in seconds by SMT (Summit Power9, SummitDev Power8) of the CORAL-2 Big Data Analytics Suite, from J. Yin, Early experiences
# with Machine Learning and Deep Learning on Summit/SummitDev (Oak Ridge National Laboratory); damaged and missing cells are absent.
POWER = [
    ("PCA", 8e9, {1: 1.9, 2: 2.1, 4: 2.4}, {1: 6.8, 2: 3.6, 4: 3.7, 8: 4}),
    ("PCA", 64e9, {1: 13, 2: 12.2, 4: 13.5}, {1: 53.1, 2: 28.2, 4: 24.8, 8: 25.9}),
    ("K-means", 8e9, {1: 3.1, 2: 3, 4: 3}, {1: 4.7, 2: 4.8, 4: 4.8, 8: 4.9}),
    ("K-means", 64e9, {1: 26.2, 2: 26.5, 4: 26.6}, {1: 72.8, 2: 49.2, 4: 35.3, 8: 35.8}),
    ("SVM", 8e9, {2: 16.7, 4: 16.7}, {1: 34.6, 2: 33.1, 4: 34.7, 8: 37.5}),
    ("SVM", 64e9, {}, {1: 286.6, 2: 285.7, 4: 283.1, 8: 291.5}),
]


def power_data():
    rows = []
    for architecture, system, which in (("Power8", "summitdev", 3), ("Power9", "summit", 2)):
        for cells in POWER:
            for smt, seconds in cells[which].items():
                rows.append({"system": system, "launch": 0, "published": True, "time": seconds, "architecture": architecture,
                             "workload": cells[0], "size": cells[1], "smt": smt})
    return rows


def deficient_data():
    """threads is twice smt, node tells what architecture tells, SVM never ran in mode b: aliases of three kinds."""
    random = np.random.default_rng(20240607)
    rows = []
    for node, workload, smt, mode in itertools.product(("n1", "n2", "n3"), ("PCA", "SVM"), (1, 2, 4), ("a", "b")):
        if workload == "SVM" and mode == "b":
            continue
        seconds = 3 * smt ** -0.4 * (2 if workload == "SVM" else 1) * (1.3 if mode == "b" else 1) * (0.7 if node == "n3" else 1)
        rows.append({"system": "one", "launch": 0, "published": True, "time": float(seconds * np.exp(0.05 * random.standard_normal())),
                     "node": node, "architecture": "new" if node == "n3" else "old", "workload": workload, "smt": smt,
                     "threads": 2 * smt, "mode": mode})
    return rows


def generated_data():
    """Launches share an error; the machines differ by workload and by the growth with size."""
    random = np.random.default_rng(7)
    rows = []
    for s, system in enumerate(("base", "fast", "wide")):
        for launch in range(6):
            shared = 0.06 * random.standard_normal()
            for w, workload in enumerate(("gemm", "conv", "rnn")):
                for size in (1e6, 1e7, 1e8, 3e8):
                    if random.random() < 0.15:
                        continue
                    mean = -9 + 0.8 * np.log(size) + 0.5 * w - 0.3 * s - 0.1 * s * w + 0.02 * s * np.log(size)
                    rows.append({"system": system, "launch": launch, "published": False, "workload": workload, "size": size,
                                 "threads": int(random.choice([1, 2, 4])),
                                 "time": float(np.exp(mean + shared + 0.04 * random.standard_normal()))})
    return rows


def problems_data():
    """Few problems, each launched again and again: what the model misses of a problem is in all of its launches."""
    random = np.random.default_rng(11)
    rows = []
    for p in range(9):
        flops, missed = float(10.0 ** random.uniform(6, 11)), 0.2 * random.standard_normal()
        for launch in range(5):
            for algorithm, faster in (("direct", 0), ("winograd", 0.5)):
                if random.random() < 0.1:
                    continue
                mean = -20 + 0.9 * np.log(flops) - faster + missed + 0.05 * (algorithm == "winograd") * random.standard_normal()
                rows.append({"system": "one", "launch": launch, "published": False, "problem": f"p{p}", "flops": flops,
                             "algorithm": algorithm, "time": float(np.exp(mean + 0.01 * random.standard_normal()))})
    return rows


def factor(column):
    return patsy.builtins.C(column.map(lambda v: f"{v:g}"), levels=[f"{v:g}" for v in dict.fromkeys(column)])


def name(patsy_name):
    return "(Intercept)" if patsy_name == "Intercept" else patsy_name.replace("[T.", "[")


def independent(x):
    """Columns that no earlier ones determine."""
    kept = []
    for j in range(x.shape[1]):
        if np.linalg.matrix_rank(x[:, kept + [j]] / np.maximum(np.abs(x[:, kept + [j]]).max(axis=0), 1e-300)) == len(kept) + 1:
            kept.append(j)
    return kept


def golden(title, rows, formula, cluster=None, predict=()):
    frame = pandas.DataFrame(rows)
    for column in frame.select_dtypes(exclude="number").columns:
        if column != "published":
            frame[column] = pandas.Categorical(frame[column], categories=list(dict.fromkeys(frame[column])))
    environment = patsy.EvalEnvironment([{"log": np.log, "log2": np.log2, "sqrt": np.sqrt, "factor": factor}])
    y, x = patsy.dmatrices(formula, frame, eval_env=environment, return_type="dataframe")
    kept = independent(x.to_numpy())
    names = [name(column) for column in x.columns]
    design = x.iloc[:, kept]
    plain = sm.OLS(y, design).fit()
    fit = plain
    if cluster:
        groups = frame.groupby([frame[one].astype(str) for one in cluster], sort=False).ngroup()
        fit = sm.OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    df_t = fit.df_resid_inference if cluster else fit.df_resid
    interval = fit.conf_int().to_numpy()
    expected = {
        "aliased": [one for i, one in enumerate(names) if i not in kept],
        "coefficients": [{"term": names[j], "estimate": fit.params.iloc[i], "se": fit.bse.iloc[i], "t": fit.tvalues.iloc[i],
                          "p": fit.pvalues.iloc[i], "interval": list(interval[i])} for i, j in enumerate(kept)],
        "r2": fit.rsquared, "adjusted_r2": fit.rsquared_adj, "sigma": float(np.sqrt(fit.scale)), "df": int(fit.df_resid),
        "f": {"value": float(np.squeeze(fit.fvalue)), "df1": int(fit.df_model), "df2": int(df_t), "p": float(np.squeeze(fit.f_pvalue))},
        "residuals": list(fit.resid), "leverage": list(plain.get_influence().hat_matrix_diag),
        "predictions": [],
    }
    for given in predict:
        # It is one more row of the data: its levels are then coded as theirs.
        longer = pandas.concat([frame, pandas.DataFrame([{"time": 1.0, **given}])], ignore_index=True)
        for column in frame.select_dtypes(include="category").columns:
            longer[column] = pandas.Categorical(longer[column], categories=frame[column].cat.categories)
        at = np.asarray(patsy.dmatrices(formula, longer[list(given) + ["time"]], eval_env=environment)[1])[-1:, kept]
        middle = float((at @ fit.params.to_numpy())[0])
        spread = float(np.sqrt(fit.scale + (at @ fit.cov_params().to_numpy() @ at.T)[0, 0]))
        reach = scipy.stats.t.ppf(0.975, df_t) * spread
        if not cluster:
            theirs = plain.get_prediction(at).conf_int(obs=True)[0]
            assert np.allclose(theirs, [middle - reach, middle + reach], rtol=1e-12), "not statsmodels' own interval"
        scale = np.exp if formula.startswith("log(") else lambda v: v
        expected["predictions"].append({"given": given, "value": float(scale(middle)),
                                        "interval": [float(scale(middle - reach)), float(scale(middle + reach))]})
    document = {"made_by": f"tests/support/make_model_golden.py, statsmodels {statsmodels.__version__}, patsy {patsy.__version__}",
                "formula": formula, "cluster": cluster[-1] if cluster else "none", "rows": rows, "expected": expected}
    assert np.isfinite(expected["f"]["value"]) or cluster, title
    text = json.dumps(document, allow_nan=False, default=float)
    (FOLDER / f"{title}.json").write_text(text.replace('{"system"', '\n{"system"').replace('"expected"', '\n"expected"')
                                          .replace('{"term"', '\n{"term"') + "\n")
    print(title, len(rows), "rows,", len(kept), "coefficients,", len(names) - len(kept), "aliased")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    power, generated = power_data(), generated_data()
    ask = {"architecture": "Power9", "size": 64e9, "workload": "PCA", "smt": 2}
    golden("power", power, "log(time) ~ architecture + log(size) + workload + smt", predict=[ask, {**ask, "size": 512e9}])
    golden("power_factor", power, "log(time) ~ architecture*workload + log(size) + factor(smt)", predict=[ask])
    golden("power_plain", power, "sqrt(time) ~ architecture + log2(size)")
    golden("power_no_intercept", power, "log(time) ~ architecture:log(size) + workload - 1")
    golden("deficient", deficient_data(), "log(time) ~ architecture + node + smt + threads + workload*mode")
    given = {"system": "wide", "workload": "rnn", "size": 5e7, "threads": 2}
    golden("generated", generated, "log(time) ~ system*workload + system:log(size) + log(size) + threads", predict=[given])
    golden("nested", generated, "log(time) ~ log(size) + system:workload + workload:log2(threads)")
    golden("clustered", generated, "log(time) ~ system*workload + log(size) + threads", cluster=["system", "launch"], predict=[given])
    golden("by_problem", problems_data(), "log(time) ~ log(flops) + algorithm", cluster=["problem"],
           predict=[{"flops": 3e9, "algorithm": "winograd"}])


if __name__ == "__main__":
    main()
