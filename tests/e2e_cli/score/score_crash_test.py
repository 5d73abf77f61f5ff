#!/usr/bin/env python3
"""Clips that crash the decoder: a program in place of osora-clips is killed by SIGSEGV when it is
given one of them. They get an error, all others their scores, once."""
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import clips_proxy
import run_kit
from run_kit import BIN

SKIPPED = 77
GOOD = [f"good {i}.mp4" for i in range(6)]
# Notes each clip in `log`. once.mp4 crashes the child the first time.
HOOK = """
folder = pathlib.Path({folder!r})
def crashes(name):
    if name.startswith("crash"):
        return True
    mark = folder / "crashed once"
    if name != "once.mp4" or mark.exists():
        return False
    mark.write_text("")
    return True
def before(name, number):
    with open(folder / "log", "a") as log:
        log.write(name + "\\n")
    if crashes(name):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), signal.SIGSEGV)
"""
RUN_FILE = """
[run]
name = "scores"
job = "score"
[resources]
gpus_per_node = 2
cpus_per_worker = 1
[score]
output = "{output}"
scores = ["motion", "cuts"]
frames = 4
[data]
manifest = "{manifest}"
"""
SIGNAL = "crash: twice, the process that decoded it was killed by signal 11 (Segmentation fault)"


def make_scene(folder):
    clips_proxy.write_proxy(folder / "clips", HOOK.format(folder=str(folder)))
    names = [*GOOD[:3], "crash.mp4", "once.mp4", *GOOD[3:]]
    for i, name in enumerate(names):
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                        f"testsrc2=size=96x64:rate=12:duration=1,hue=h={40 * i}", "-c:v", "libx264",
                        "-pix_fmt", "yuv420p", str(folder / name)], check=True)
    (folder / "clips.csv").write_text("path\n" + "".join(f"{name}\n" for name in names))
    (folder / "all.csv").write_text("path\n" + "".join(f"crash {i}.mp4\n" for i in range(9)))
    return names


def osora(folder, *arguments, code=0, crashing=True):
    more = {"OSORA_CLIPS": str(folder / "clips")} if crashing else {}
    return run_kit.osora(folder, *arguments, code=code, OSORA_WORKER=str(BIN / "osora-worker"),
                         **more)


def tries(folder):
    """How often each clip was decoded since the last call."""
    counts = collections.Counter((folder / "log").read_text().splitlines())
    for name in ("log", "crashed once"):
        (folder / name).unlink(missing_ok=True)
    return counts


def score(folder, manifest, output, *options, **more):
    return osora(folder, "data", "score", manifest, "--scores", "motion,cuts", "--frames", "4",
                 "--out", output, *options, **more)


def check_data_score(folder, names):
    score(folder, "clips.csv", "good.csv", crashing=False)
    wanted = (folder / "good.csv").read_text().splitlines()
    said = score(folder, "clips.csv", "scores.csv", "--workers", "2", code=1)
    assert "1 row could not be scored" in said and SIGNAL in " ".join(said.split()), said
    lines = (folder / "scores.csv").read_text().splitlines()
    assert len(lines) == len(wanted), lines
    for line, other in zip(lines, wanted):
        if not line.startswith("crash.mp4"):
            assert line == other, (line, other)
            continue
        assert line.startswith("crash.mp4,,,,4,") and line.endswith(f',"{SIGNAL}"'), line
    assert tries(folder) == {**dict.fromkeys(names, 1), "crash.mp4": 2, "once.mp4": 2}


def check_data_check(folder, names):
    """The clip that crashes FFmpeg is named, all others are checked once, by any workers."""
    for workers in ("1", "3"):
        said = osora(folder, "data", "check", "--manifest", "clips.csv", "--workers", workers,
                     "--json", code=1)
        check = json.loads(said)
        assert check["checked"] == len(names), check
        assert check["damaged"] == [
            {"line": 5, "path": "crash.mp4", "kind": "crash",
             "reason": SIGNAL.removeprefix("crash: ")}], check
        assert tries(folder) == {**dict.fromkeys(names, 1), "crash.mp4": 2, "once.mp4": 2}
    said = osora(folder, "data", "check", "--manifest", "all.csv", code=1)
    assert "clips ended the process that decodes them" in said, said
    (folder / "log").unlink()


def check_data_index(folder, names):
    """The same of an index; only the clip that crashed is read again the next time."""
    index = ("data", "index", "--manifest", "clips.csv", "--index", "clips.index", "--workers", "2")
    found = json.loads(osora(folder, *index, "--json", code=1))
    assert found["read"] == len(names) - 1, found
    assert [(each["path"], each["kind"]) for each in found["failures"]] == [("crash.mp4", "crash")]
    assert tries(folder) == {**dict.fromkeys(names, 1), "crash.mp4": 2, "once.mp4": 2}
    rows = [json.loads(line) for line in (folder / "clips.index").read_text().splitlines()[1:]]
    assert len(rows) == len(names) - 1, rows
    osora(folder, *index, code=1)
    assert tries(folder) == {"crash.mp4": 2}


def check_data_look(folder, names):
    """The row of the clip that crashed is grey, all others are drawn as without it."""
    look = ("data", "look", "clips.csv", "--bucket", "64:4", "--clips", str(len(names)), "--json")
    wanted = json.loads(osora(folder, *look, crashing=False))["clips"]
    found = json.loads(osora(folder, *look, "--force", code=1))
    assert found["clips"][3].pop("kind") == "crash", found["clips"][3]
    assert found["clips"][3]["damaged"] and SIGNAL.endswith(found["clips"][3]["reason"]), found
    assert found["clips"][3]["height"] == wanted[3]["height"] > 0, found["clips"][3]
    assert [each["frames"] for each in found["clips"]] == [
        [] if i == 3 else each["frames"] for i, each in enumerate(wanted)], found
    assert (folder / "look.png").stat().st_size > 0
    assert tries(folder) == {**dict.fromkeys(names, 1), "crash.mp4": 2, "once.mp4": 2}


def check_run(folder, names):
    (folder / "score.toml").write_text(RUN_FILE.format(output="run.csv", manifest="clips.csv"))
    osora(folder, "submit", "score.toml")
    assert (folder / "run.csv").read_bytes() == (folder / "scores.csv").read_bytes()
    assert tries(folder) == {**dict.fromkeys(names, 1), "crash.mp4": 2, "once.mp4": 2}
    # 3: too few steps for a figure, if a rank has taken most of the clips.
    report = json.loads(osora(folder, "report", "1", "--json", code=(0, 3)))
    found = [each for each in report["notices"] if each["kind"] == "clip_skipped"]
    assert [(each["count"], SIGNAL in each["first"]) for each in found] == [(1, True)], found
    shards = [path.name for path in (folder / "state/runs/scores-0001/score").iterdir()]
    assert sorted(shards) == ["0-0.rows", "0-1.rows"], shards  # no second attempt


def check_too_many(folder):
    said = score(folder, "all.csv", "none.csv", code=1)
    assert "clips ended the process that decodes them" in said, said
    assert not (folder / "none.csv").exists()
    (folder / "broken").write_text("#!/bin/sh\nexit 3\n")
    (folder / "broken").chmod(0o755)
    text = RUN_FILE.format(output="none.csv", manifest="clips.csv")
    (folder / "score.toml").write_text(text + "[faults]\nmax_restarts = 0\n")
    said = run_kit.osora(folder, "submit", "score.toml", code=1, OSORA_CLIPS=str(folder / "broken"),
                         OSORA_WORKER=str(BIN / "osora-worker"))
    assert "broken read exited with 3" in said, said


def main():
    if shutil.which("ffmpeg") is None:
        print("no ffmpeg program to make clips with")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        names = make_scene(folder)
        check_data_score(folder, names)
        check_data_check(folder, names)
        check_data_index(folder, names)
        check_data_look(folder, names)
        check_run(folder, names)
        check_too_many(folder)


main()
