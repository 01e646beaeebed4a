#!/usr/bin/env python3
"""Makes tests/models/data: iris, digits and breast_cancer of scikit-learn as CSV, and in golden.json what scikit-learn finds in them.

Needs scikit-learn (.deps/peers/bin/python3 has it after scripts/bootstrap --with-peers; tests do not). Run it without arguments.
The features of breast_cancer are standardised (mean 0, deviation 1) and rounded to six decimals, because support vectors of features
that differ by a factor of 1e5 are badly conditioned. Golden results are those of the written numbers.
"""
import json
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

FOLDER = Path(__file__).resolve().parent.parent / "models" / "data"


def random_words(seed):
    """The 64-bit Mersenne Twister of Nishimura and Matsumoto, which C++ calls mt19937_64."""
    mask = 2**64 - 1
    state = [seed]
    for i in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + i) & mask)
    while True:
        for i in range(312):
            high_low = (state[i] & 0xFFFFFFFF80000000) | (state[(i + 1) % 312] & 0x7FFFFFFF)
            state[i] = state[(i + 156) % 312] ^ high_low >> 1 ^ (0xB5026F5AA96619E9 if high_low & 1 else 0)
        for word in state:
            word ^= word >> 29 & 0x5555555555555555
            word ^= word << 17 & 0x71D67FFFEDA60000
            word ^= word << 37 & 0xFFF7EEE000000000
            yield word & mask ^ (word & mask) >> 43


def starting_rows(rows, clusters, seed=1234):
    """The starting centroids of assay-kmeans --start random: distinct rows."""
    chosen = []
    for word in random_words(seed):
        if len(chosen) == clusters:
            return chosen
        if word % rows not in chosen:
            chosen.append(word % rows)


def write(name, x, labels, feature_names, digits):
    names = [str(feature).replace(" (cm)", "").replace(" ", "_") for feature in feature_names]
    lines = [",".join(names + ["target"])]
    lines += [",".join([f"{value:.{digits}f}" for value in row] + [str(label)]) for row, label in zip(x, labels)]
    (FOLDER / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return np.array([[float(word) for word in line.split(",")[:-1]] for line in lines[1:]])


def components(x):
    found = PCA(svd_solver="full").fit(x)
    return {"mean": found.mean_.tolist(), "variances": found.explained_variance_.tolist(), "directions": found.components_.tolist()}


def clusters(x, k):
    rows = starting_rows(len(x), k)
    found = KMeans(k, init=x[rows], n_init=1, tol=0, max_iter=1000, algorithm="lloyd").fit(x)
    counts = np.bincount(found.labels_, minlength=k)
    assert counts.min() > 0 and found.n_iter_ < 1000
    return {"starting_rows": rows, "centroids": found.cluster_centers_.tolist(), "counts": counts.tolist(),
            "inertia": found.inertia_, "iterations": found.n_iter_}


def machine(x, labels, cost):
    """LIBLINEAR's intercept is a weight like the others."""
    found = LinearSVC(loss="hinge", C=cost, tol=1e-9, max_iter=10_000_000, random_state=1).fit(x, labels)
    w, b = found.coef_[0], float(found.intercept_[0])
    margins = np.where(labels == found.classes_[1], 1, -1) * (x @ w + b)
    return {"cost": cost, "w": [*w.tolist(), b], "objective": float((w @ w + b * b) / 2 + cost * np.maximum(0, 1 - margins).sum()),
            "accuracy": float((margins > 0).mean())}


def main():
    warnings.simplefilter("error")  # of what did not converge
    FOLDER.mkdir(exist_ok=True)
    iris, digits, cancer = load_iris(), load_digits(), load_breast_cancer()
    x = {"iris": write("iris", iris.data, iris.target, iris.feature_names, 1),
         "digits": write("digits", digits.data, digits.target, digits.feature_names, 0),
         "breast_cancer": write("breast_cancer", StandardScaler().fit_transform(cancer.data), cancer.target, cancer.feature_names, 6)}
    golden = {"made_by": f"tests/support/make_analytics_data.py, scikit-learn {sklearn.__version__}",
              "pca": {name: components(rows) for name, rows in x.items()},
              "kmeans": {"iris": clusters(x["iris"], 3), "digits": clusters(x["digits"], 10), "breast_cancer": clusters(x["breast_cancer"], 2)},
              "svm": {"breast_cancer": machine(x["breast_cancer"], cancer.target, 1.0),
                      "iris": {**machine(x["iris"], iris.target == 0, 1.0), "positive": 0},
                      # An eight is hard to tell from other digits: its classes overlap. The weight suits pixels up to 16.
                      "digits": {**machine(x["digits"], digits.target == 8, 1e-4), "positive": 8}}}
    (FOLDER / "golden.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
