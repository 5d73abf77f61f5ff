#!/usr/bin/env python3
"""Installs the wheels of a requirement file (name==version, hashes) one by one into the running
environment. Driven by scripts/bootstrap and osora-fetch-torch. Complete packages are left alone, so
an interrupted run continues with the next package; one with missing or short files is
reinstalled."""
import csv
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

SITE = Path(sysconfig.get_paths()["purelib"])
ATTEMPTS = 3
DRIVER = os.environ.get("OSORA_INSTALLER", "bootstrap")  # its name in messages


def fail(text):
    print(f"{DRIVER}: error: {text}", file=sys.stderr)
    sys.exit(1)


def marker_holds(marker):
    """The only marker that pin_deps.py writes: python_version in "3.11 3.12"."""
    if not marker:
        return True
    return f"{sys.version_info[0]}.{sys.version_info[1]}" in re.search(r'"(.*)"', marker)[1].split()


def requirements(path):
    """[(name, version, megabytes, the lines pip reads)], in the file's order."""
    found, size = [], 0
    for block in path.read_text().replace("\\\n", "\0").splitlines():
        if match := re.match(r"# (\d+) MB$", block):
            size = int(match[1])
        elif match := re.match(r"([\w.-]+)==(\S+)\s*(?:;([^\0]*))?\0", block):
            if marker_holds(match[3]):
                found.append((match[1], match[2], size, block.replace("\0", "\\\n") + "\n"))
    return found


def broken_file(record):
    """The first file of an installed package that is missing or has another size, or None."""
    for name, _, size in csv.reader(record.read_text().splitlines()):
        if size and not name.startswith("..") and not name.endswith("/RECORD"):
            file = SITE / name
            if not file.exists() or file.stat().st_size != int(size):
                return name
    return None


def is_whole(name, version):
    """Is this version installed with all its files? What is there but broken is forgotten."""
    try:
        package = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    info = Path(package._path)
    record = info / "RECORD"
    if record.exists() and not broken_file(record):
        return package.version == version
    if info.parent == SITE:
        shutil.rmtree(info)
    return False


def explain(output, name):
    free = shutil.disk_usage(SITE).free / 1e9
    if "DO NOT MATCH THE HASHES" in output:
        return (f"{name}: what came has another hash than the pinned one: a changed package or a "
                "broken download; not installed")
    if "No space left" in output:
        return f"{name}: disk full under {SITE} ({free:.1f} GB free)"
    if re.search(r"Failed to establish|name resolution|timed out|IncompleteRead|Connect", output):
        return f"{name}: cannot be fetched: network or package index unreachable"
    return f"{name}: pip failed"


def install(name, lines):
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(lines)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps",
                   "--require-hashes", "--no-cache-dir", "--no-compile", "--only-binary=:all:",
                   "--disable-pip-version-check", "--retries", "2", "-r", str(wanted)]
        for attempt in range(1, ATTEMPTS + 1):
            run = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, check=False)
            if run.returncode == 0:
                return
            why = explain(run.stdout, name)
            if attempt == ATTEMPTS or "hash" in why or "disk full" in why:
                print("\n".join(run.stdout.splitlines()[-12:]), file=sys.stderr)
                fail(why)
            time.sleep(2 * attempt)


def main():
    started = time.monotonic()
    wanted = requirements(Path(sys.argv[1]))
    missing = [item for item in wanted if not is_whole(item[0], item[1])]
    need = sum(item[2] for item in missing) + max((item[2] for item in missing), default=0)
    free = shutil.disk_usage(SITE).free / 1e6
    if need * 1.02 > free:
        fail(f"disk: {need / 1000:.1f} GB needed under {SITE}, {free / 1000:.1f} GB free")
    for index, (name, version, size, lines) in enumerate(missing, 1):
        print(f"{DRIVER}: {index}/{len(missing)} {name} {version} ({size} MB)", flush=True)
        install(name, lines)
    if missing:
        print(f"{DRIVER}: {len(missing)} packages in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
