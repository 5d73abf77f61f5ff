"""How long compiles of a build folder take: as their last build took, or else by the bytes that a
compile reads of this tree. Used by scripts/estimate and scripts/build_progress."""
import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Seconds of one compile beside another on two cores, between those of two machines whose full
# builds took 20 and 46 minutes: headers, and each byte of source.
LIGHT_S, HEAVY_S, BYTE_S = 3.5, 10.0, 0.19e-3


def guess_s(source_bytes, heavy):
    """Of a compile that was never timed. Heavy: it includes LibTorch."""
    return (HEAVY_S if heavy else LIGHT_S) + BYTE_S * source_bytes


def output_of(command):
    """What a command prints; nothing when it cannot run."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return ""
    return done.stdout


def compiles(build):
    """{output: (source, whether it shares the heavy pool)} of build.ninja"""
    found, output, source = {}, "", ""
    with open(build / "build.ninja") as lines:
        for line in lines:
            if line.startswith("build "):
                output, _, rest = line[len("build "):].partition(":")
                words = rest.split()
                output = output.split()[0]
                source = words[1] if len(words) > 1 else ""
                found[output] = (source, False)
            elif line.strip() == "pool = heavy":
                found[output] = (source, True)
    return found


def source_bytes(build, source):
    """Of a file, or of those that a unity file joins, which it names from the root."""
    path = build / source
    try:
        if path.parent.name == "unity":
            joined = re.findall(r'^#include "(.*)"$', path.read_text(), re.M)
            return sum((ROOT / each).stat().st_size for each in joined)
        return path.stat().st_size
    except OSError:
        return 0


def logged_seconds(build):
    """{output: seconds that its last build took}"""
    try:
        rows = [row.split("\t") for row in (build / ".ninja_log").read_text().splitlines()[1:]]
    except OSError:
        return {}
    return {row[3]: (int(row[1]) - int(row[0])) / 1000 for row in rows if len(row) > 3}


def dry_run(build, targets):
    """What ninja would do. Through a file that includes build.ninja: a dry run of build.ninja
    itself ends at the check of CMake's globs."""
    with tempfile.NamedTemporaryFile("w", suffix=".ninja") as file:
        file.write("include build.ninja\n")
        file.flush()
        return output_of(["ninja", "-C", str(build), "-f", file.name, "-n", *targets])


def pending_compiles(build, targets):
    """{output: seconds} of the compiles that a build of `targets` still needs."""
    known, logged = compiles(build), logged_seconds(build)
    seconds = {}
    for output in re.findall(r"Building \S+ object (\S+)", dry_run(build, targets)):
        source, heavy = known.get(output, ("", False))
        seconds[output] = logged.get(output) or guess_s(source_bytes(build, source), heavy)
    return seconds


def cores():
    return len(os.sched_getaffinity(0))
