#!/usr/bin/env python3
"""Fits constants of the model by least squares over the logarithm of predicted over measured time;
rows override constants, so that nothing is compiled. Then fits again without each group and scores
the group left out. fit.py build/bin/osora DATA SET NAME=START,... [--cross]
SET: vtrain (groups: equal work, 5 folds), mpt (GPU and size), gpt (both), buckets (each row)."""
import argparse
import json
import subprocess
import zlib

import numpy as np

import score
import tables


OUTLIER = 0.05


def many(osora, rows, settings):
    """Predicted seconds, (settings, rows), of one process."""
    lines = []
    for at, constants in enumerate(settings):
        for number, row in enumerate(rows):
            sent = dict(row["row"], id=at * len(rows) + number)
            sent["cluster"] = dict(sent["cluster"], calibration=constants)
            lines.append(json.dumps(sent))
    done = subprocess.run([osora, "plan", "evaluate"], input="\n".join(lines), text=True,
                          stdout=subprocess.PIPE, check=True)
    found = [json.loads(line)["step_time_s"] for line in done.stdout.splitlines()]
    return np.array(found).reshape(len(settings), len(rows))


class Fit:
    """Levenberg-Marquardt on logarithms of constants, held to their start by `hold`."""

    def __init__(self, osora, rows, start, hold):
        self.osora, self.rows, self.start, self.hold = osora, rows, start, hold
        self.weights = set_weights(rows)

    def residuals(self, seconds, x):
        real = np.array([row["seconds"] for row in self.rows])
        first = np.log([self.start[name] for name in self.start])
        error = np.log(seconds / real) / OUTLIER
        # Squares of small errors, sizes of large ones (Huber's, smoothed).
        error = np.sign(error) * np.sqrt(2 * (np.sqrt(1 + error**2) - 1)) * OUTLIER
        return np.concatenate([self.weights * error, self.hold * (x - first)])

    def constants(self, x):
        return dict(zip(self.start, (float(v) for v in np.exp(x))))

    def run(self, rounds):
        x = np.log([self.start[name] for name in self.start])
        damping, step = 1e-3, 1e-3
        for _ in range(rounds):
            points = [x] + [x + step * unit for unit in np.eye(len(x))]
            found = many(self.osora, self.rows, [self.constants(p) for p in points])
            r = self.residuals(found[0], x)
            slope = np.stack([(self.residuals(f, p) - r) / step
                              for f, p in zip(found[1:], points[1:])], axis=1)
            dampings = damping * np.array([0.1, 1, 10, 100, 1000])
            normal = slope.T @ slope
            tries = [x - np.clip(np.linalg.solve(normal + d * np.diag(np.diag(normal) + 1e-9),
                                                 slope.T @ r), -0.5, 0.5) for d in dampings]
            results = many(self.osora, self.rows, [self.constants(t) for t in tries])
            costs = [np.sum(self.residuals(f, t)**2) for f, t in zip(results, tries)]
            best = int(np.argmin(costs))
            gain = 1 - costs[best] / np.sum(r**2)
            if gain <= 0:
                break
            x, damping = tries[best], max(1e-6, float(dampings[best]))
            if gain < 1e-4:
                break
        return self.constants(x)


def set_weights(rows):
    """Each table counts the same, however many rows it has."""
    of = [row["set"] for row in rows]
    return np.array([1 / np.sqrt(of.count(each)) for each in of])


def load(data, name):
    makers = {"vtrain": [tables.vtrain], "mpt": [tables.mpt], "buckets": [tables.open_sora],
              "gpt": [tables.vtrain, tables.mpt]}[name]
    rows = []
    for make in makers:
        for row in make(data):
            fold = zlib.crc32(str(row["group"]).encode()) % 5
            key = {tables.vtrain: fold, tables.mpt: row["group"],
                   tables.open_sora: len(rows)}[make]
            rows.append(dict(row, set=make.__name__, fold=(make.__name__, key)))
    return rows


def report(title, rows, seconds):
    print(title)
    for name in sorted({row["set"] for row in rows}):
        at = [n for n, row in enumerate(rows) if row["set"] == name]
        print("  " + score.line(name, [rows[n] for n in at], seconds[at], name == "vtrain"))


def cross_validate(given, rows, constants):
    seconds = np.zeros(len(rows))
    for fold in sorted({row["fold"] for row in rows}, key=str):
        kept = [row for row in rows if row["fold"] != fold]
        out = [n for n, row in enumerate(rows) if row["fold"] == fold]
        found = Fit(given.osora, kept, constants, given.hold).run(given.rounds)
        seconds[out] = many(given.osora, [rows[n] for n in out], [found])[0]
    report("left out", rows, seconds)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("osora")
    options.add_argument("data")
    options.add_argument("set", choices=["vtrain", "mpt", "gpt", "buckets"])
    options.add_argument("names", help="NAME=START,NAME=START")
    options.add_argument("--hold", type=float, default=0.02)
    options.add_argument("--rounds", type=int, default=12)
    options.add_argument("--cross", action="store_true")
    given = options.parse_args()
    start = {key: float(value)
             for key, value in (each.split("=") for each in given.names.split(","))}
    rows = load(given.data, given.set)
    found = Fit(given.osora, rows, start, given.hold).run(given.rounds)
    print(" ".join(f"{key}={value:.4g}" for key, value in found.items()))
    report("fitted to all", rows, many(given.osora, rows, [found])[0])
    if given.cross:
        cross_validate(given, rows, start)


if __name__ == "__main__":
    main()
