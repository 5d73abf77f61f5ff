#!/usr/bin/env python3
"""targets.py BUILD DATA [--trainer]: the planner's figures beside the best that others published.

BUILD has bin/osora and bench/evaluate_speed, bench/plan_time; DATA the fit tables. --trainer also
trains 45 small configurations (4 min) for the memory of osora's own trainer.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "planner_fit"))

import memory  # noqa: E402
import published  # noqa: E402
import score  # noqa: E402

BEST_KNOWN = {
    "vTrain single node": "Calculon 38.9 %, Spearman 0.651, regret 10.2 %",
    "memory, SimuMax": "SimuMax 0.46 %, max 1.38 %",
}


def percent(value):
    return f"{100 * value:.2f} %"


def row(name, figure):
    print(f"{name:34} {figure:58} {BEST_KNOWN.get(name, '')}".rstrip())


def times(osora, data):
    for name, rows in score.sets(data).items():
        seconds = score.predicted(osora, rows)
        errors = abs(score.errors(rows, seconds))
        figure = f"MAPE {percent(errors.mean())}, max {percent(errors.max())}"
        if name.startswith("vTrain"):
            rho, regret = score.choice(rows, seconds)
            figure = (f"MAPE {percent(errors.mean())}, Spearman {rho.mean():.3f}, "
                      f"regret {percent(regret.mean())}")
        row(name, figure)
        if name in published.SETS:
            pairs = score.with_one_measured(osora, rows)
            errors = abs(score.errors(*pairs))
            row("  with one of its runs measured",
                f"mean {percent(errors.mean())}, max {percent(errors.max())}")


def peaks(osora, data):
    for name, rows in (("memory, SimuMax", memory.simumax()),
                       ("memory, torchtitan (reserved)", memory.torchtitan())):
        errors = [abs(answer["peak_memory_gib"] / each["seconds"] - 1)
                  for each, answer in zip(rows, score.answers(osora, rows))]
        row(name, f"mean {percent(sum(errors) / len(errors))}, max {percent(max(errors))}")
    known = memory.outcomes(data)
    found = score.answers(osora, [each for each, _ in known])
    wrong = sum(answer["fits"] != fits for (_, fits), answer in zip(known, found))
    row("memory, runs that fit or did not", f"{wrong} of {len(known)} wrong")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("build")
    options.add_argument("data")
    options.add_argument("--trainer", action="store_true")
    asked = options.parse_args()
    osora = os.path.join(asked.build, "bin", "osora")
    times(osora, asked.data)
    peaks(osora, asked.data)
    programs = [[os.path.join(asked.build, "bench", name)]
                for name in ("evaluate_speed", "plan_time")]
    if asked.trainer:
        programs.append([sys.executable, os.path.join(HERE, "trainer_memory.py"), osora])
    for each in programs:
        print(f"\n{os.path.basename(each[-1] if len(each) == 1 else each[1])}:", flush=True)
        subprocess.run(each, check=True)


if __name__ == "__main__":
    main()
