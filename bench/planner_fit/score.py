#!/usr/bin/env python3
"""Errors of `osora plan evaluate` on measured tables and published runs.
score.py build/bin/osora DATA [--rows] [--set NAME=VALUE]... [--by KEY,KEY]"""
import argparse
import collections
import json
import subprocess

import numpy as np

import published
import tables


def answers(osora, rows, constants=None):
    """What osora answers, in order; `constants` override the model's."""
    lines = []
    for number, row in enumerate(rows):
        sent = dict(row["row"], id=number)
        if constants:
            sent["cluster"] = dict(sent["cluster"], calibration=constants)
        lines.append(json.dumps(sent))
    done = subprocess.run([osora, "plan", "evaluate"], input="\n".join(lines), text=True,
                          stdout=subprocess.PIPE, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["id"] for each in found] == list(range(len(rows)))
    return found


def predicted(osora, rows, constants=None):
    found = answers(osora, rows, constants)
    for each, row in zip(found, rows):
        if "error" in each:
            raise SystemExit(f'{row["labels"]}: {each["error"]}')
    return np.array([each["step_time_s"] for each in found])


def ranks(values):
    """Average ranks: ties share theirs."""
    _, inverse, counts = np.unique(np.round(values, 12), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def choice(rows, seconds):
    """Mean Spearman and regret of the argmin over groups of at least 4 layouts."""
    groups = collections.defaultdict(list)
    for at, row in enumerate(rows):
        groups[row["group"]].append(at)
    rho, regret = [], []
    for members in groups.values():
        if len(members) < 4:
            continue
        real = np.array([rows[at]["seconds"] for at in members])
        guess = seconds[members]
        if np.ptp(guess) > 0:
            rho.append(np.corrcoef(ranks(real), ranks(guess))[0, 1])
        regret.append(real[np.argmin(guess)] / real.min() - 1)
    return np.array(rho), np.array(regret)


def errors(rows, seconds):
    return seconds / np.array([row["seconds"] for row in rows]) - 1


def line(name, rows, seconds, grouped):
    e = errors(rows, seconds)
    text = (f"{name:28} n {len(rows):4}  MAPE {100 * np.abs(e).mean():6.2f} %  "
            f"bias {100 * e.mean():+6.2f} %  max {100 * np.abs(e).max():6.1f} %")
    if grouped:
        rho, regret = choice(rows, seconds)
        text += (f"  Spearman {rho.mean():.3f} (min {rho.min():.3f})  "
                 f"regret {100 * regret.mean():.2f} % (max {100 * regret.max():.1f} %)")
    return text


def by_labels(rows, seconds, keys):
    cells = collections.defaultdict(list)
    for row, e in zip(rows, errors(rows, seconds)):
        if all(key in row["labels"] for key in keys):
            cells[tuple(row["labels"][key] for key in keys)].append(e)
    for cell, values in sorted(cells.items(), key=str):
        print(f"    {cell}: n {len(values)}, bias {100 * np.mean(values):+.1f} %, "
              f"MAPE {100 * np.mean(np.abs(values)):.1f} %")


def with_one_measured(osora, rows):
    """Errors of each row when osora is given one other row of its set, for every such pair."""
    pairs = [(measured, row) for measured in rows for row in rows if measured is not row]
    asked = []
    for measured, row in pairs:
        run = {key: measured["row"][key] for key in ("model", "layout")}
        run.update({key: measured["row"]["cluster"][key] for key in ("nodes", "gpus_per_node")})
        run["step_time_s"] = measured["seconds"]
        calibration = {"measured": [run]}
        asked.append({"row": dict(row["row"], cluster=dict(row["row"]["cluster"],
                                                           calibration=calibration)),
                      "labels": row["labels"]})
    return [row for _, row in pairs], predicted(osora, asked)


def sets(data):
    found = {"vTrain single node": tables.vtrain(data), "MPT FSDP": tables.mpt(data),
             "FLUX.1, 16 GPUs": tables.flux(data), "Llama 3.1 8B": tables.llama_8b(data),
             "Open-Sora buckets": tables.open_sora(data)}
    found.update({name: make() for name, make in published.SETS.items()})
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("osora")
    options.add_argument("data", help="folder of the *_fit.csv tables")
    options.add_argument("--rows", action="store_true", help="every row but vTrain's")
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options.add_argument("--measured", action="store_true",
                         help="published sets once more, with one other row of the set measured")
    options.add_argument("--by", action="append", default=[], metavar="KEY,KEY")
    given = options.parse_args()
    constants = {key: float(value) for key, value in (each.split("=") for each in given.set)}
    for name, rows in sets(given.data).items():
        seconds = predicted(given.osora, rows, constants)
        print(line(name, rows, seconds, name.startswith("vTrain")))
        if given.measured and name in published.SETS:
            print(line("  one measured", *with_one_measured(given.osora, rows), False))
        for keys in given.by:
            by_labels(rows, seconds, keys.split(","))
        if given.rows and not name.startswith("vTrain"):
            for row, guess in zip(rows, seconds):
                print(f'    {100 * (guess / row["seconds"] - 1):+6.1f} %  {row["seconds"]:8.3f} s  '
                      f'{row["labels"]}')


if __name__ == "__main__":
    main()
