#!/usr/bin/env python3
"""How long building and testing osora takes, on a machine that does nothing else.

  bench/build_time/measure.py [ROW...] [--folder DIR]

Rows, all by default: build (everything, empty ccache), demo (a fresh clone to the end of `make
demo`, empty ccache, downloads included), ci-cold and ci-warm (.ci/run), touch-plan, touch-daemon
and touch-worker (one .cpp changed, until its unit tests have run), touch-base (base/result.hpp
changed, everything built again). Each row works on clones of HEAD under DIR (new, in /tmp),
never in this checkout; `build` and the touch rows share one clone and take .deps from this
checkout. Prints the table with the limits of 2 cores; exit code 1: a row failed or took longer.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# name: (what, limit in s)
ROWS = {
    "build": ("make build, everything, empty ccache", 20 * 60),
    "demo": ("fresh clone to the end of make demo, empty ccache", 12 * 60),
    "ci-cold": (".ci/run, empty ccache", 35 * 60),
    "ci-warm": (".ci/run, warm ccache", 12 * 60),
    "touch-plan": ("plan/step_time.cpp changed, unit_plan has run", 15),
    "touch-daemon": ("daemon/agent/agent_core.cpp changed, unit_daemon_core has run", 15),
    "touch-worker": ("worker/train/optimizer.cpp changed, unit_worker_train has run", 15),
    "touch-base": ("base/result.hpp changed, make build", 8 * 60),
}
TOUCHED = {
    "touch-plan": ("plan/step_time.cpp", "unit_plan"),
    "touch-daemon": ("daemon/agent/agent_core.cpp", "unit_daemon_core"),
    "touch-worker": ("worker/train/optimizer.cpp", "unit_worker_train"),
}


class Bench:
    def __init__(self, folder):
        self.folder = folder
        self.log = open(folder / "log", "w", encoding="utf-8")

    def run(self, command, cwd, **variables):
        """Seconds that `command` took; raises when it fails."""
        start = time.monotonic()
        subprocess.run(command, cwd=cwd, env=os.environ | variables, check=True,
                       stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        return time.monotonic() - start

    def clone(self, name, with_deps):
        clone = self.folder / name
        shutil.rmtree(clone, ignore_errors=True)
        self.run(["git", "clone", "-q", str(ROOT), str(clone)], self.folder)
        if with_deps:
            (clone / ".deps").symlink_to((ROOT / ".deps").resolve())
        return clone

    def ccache(self, name, empty):
        cache = self.folder / f"ccache-{name}"
        if empty:
            shutil.rmtree(cache, ignore_errors=True)
        return str(cache)

    def build(self):
        clone = self.clone("build", with_deps=True)
        cache = self.ccache("build", empty=True)
        return self.run(["make", "build"], clone, CCACHE_DIR=cache, OSORA_PRESET="default")

    def demo(self):
        clone = self.clone("demo", with_deps=False)
        return self.run(["make", "demo"], clone, CCACHE_DIR=self.ccache("demo", empty=True), CI="")

    def ci(self, empty):
        clone = self.clone("ci", with_deps=True)
        return self.run([".ci/run"], clone, CCACHE_DIR=self.ccache("ci", empty), CI="true")

    def built(self):
        clone = self.folder / "build"
        if not (clone / "build" / "build.ninja").exists():
            self.build()
        else:
            self.run(["scripts/build", "build"], clone)
        return clone

    def change(self, file):
        with open(file, "a", encoding="utf-8") as out:
            out.write("\n")

    def touch(self, row):
        clone = self.built()
        file, test = TOUCHED[row]
        self.change(clone / file)
        command = f"ninja -C build {test} && build/tests/{test}"
        return self.run(["sh", "-c", command], clone, CCACHE_DISABLE="1")

    def touch_base(self):
        clone = self.built()
        self.change(clone / "base/result.hpp")
        return self.run(["make", "build"], clone, CCACHE_DISABLE="1")

    def measure(self, row):
        if row in TOUCHED:
            return self.touch(row)
        steps = {"build": self.build, "demo": self.demo, "touch-base": self.touch_base,
                 "ci-cold": lambda: self.ci(True), "ci-warm": lambda: self.ci(False)}
        return steps[row]()


def shown(seconds):
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--folder", type=Path, help="where to clone to; kept afterwards")
    arguments = parser.parse_args()
    unknown = [row for row in arguments.rows if row not in ROWS]
    if unknown:
        parser.error(f"no row '{unknown[0]}'; known: {', '.join(ROWS)}")
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="osora-build-time-"))
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(folder.resolve())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True).stdout.strip()
    print(f"commit {commit}, {os.cpu_count()} cores, log: {folder}/log", flush=True)
    is_good = True
    for row in arguments.rows or ROWS:
        what, limit = ROWS[row]
        try:
            took = bench.measure(row)
        except subprocess.CalledProcessError as error:
            print(f"{what:<62} FAILED (exit {error.returncode})", flush=True)
            is_good = False
            continue
        is_good = is_good and took <= limit
        word = "ok" if took <= limit else "MISSED"
        print(f"{what:<62} {shown(took):>9}   limit {shown(limit):>7}   {word}", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
