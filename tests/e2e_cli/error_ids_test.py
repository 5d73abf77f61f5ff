#!/usr/bin/env python3
"""Every error that `osora explain` knows is raised, by a run, a command or a clip that fails."""
import fcntl
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from run_kit import BIN, PATIENCE_S, SOURCE, environment, osora, run_file

# Exit codes of a rank of osora-worker at step 3.
WORKER = {"E-comm": 10, "E-refused": 11, "E-oom": 12, "E-data": 13, "E-configuration": 14,
          "E-check": 15, "E-ended": 16, "E-gpu": 17, "E-stopped": 93, "E-early-exit": 0,
          "E-internal": 5}
# What the program of job = "exec" does.
PROGRAM = {"E-program": "exit 3", "E-crash": "kill -SEGV $$",
           "E-gpu": "echo 'RuntimeError: CUDA error: uncorrectable ECC error encountered'; exit 1"}
# What must be raised elsewhere: the test that does, by its words.
ELSEWHERE = {
    "E-controller-lost": ("tests/e2e_cli/faults_test.cpp", "AKilledControllerIsNoticed"),
    "E-cancelled": ("tests/e2e_cli/faults_test.cpp", "CtrlCStopsWithACheckpoint"),
    "E-preempted": ("tests/cluster_slurm/leaving_test.cpp", "APreemptedRunSaves"),
    "E-timeout": ("tests/cluster_slurm/job_test.cpp", "WarnedBeforeItsTimeIsOver"),
    "E-clip-slow": ("tests/unit/worker/clips/check_test.cpp", "AnEndlessFileEndsAtTheDeadline"),
    "E-clip-too-large": ("tests/unit/worker/data/frames/decoder_test.cpp",
                         "RefusesPicturesOverTheLimit"),
}


def ids_in(text):
    return set(re.findall(r"osora explain (E-[a-z-]+)", text))


def fails(folder, text, *arguments, code=1, **variables):
    """The ids in the output of a run that fails; code: of osora."""
    (folder / "run.toml").write_text(text)
    return ids_in(osora(folder, "submit", "run.toml", "--set", "faults.max_restarts=0",
                        *arguments, code=code, **variables))


def of_workers(folder):
    found = set()
    for name, code in WORKER.items():
        ids = fails(folder, run_file(steps=9), code=93 if code == 93 else 1,
                    OSORA_MOCK_FAIL=f"0:3:{code}")
        assert ids == {name}, (name, code, ids)
        found |= ids
    killed = fails(folder, run_file(steps=9), OSORA_MOCK_KILL="0:3@0")
    assert killed == {"E-killed"}, killed
    hung = fails(folder, run_file(steps=9, more="[faults]\nstep_timeout = 2\nstacks_limit = 1\n"),
                 OSORA_MOCK_HANG="0:3")
    assert hung == {"E-hang"}, hung
    gone = fails(folder, run_file(steps=9, more='[ssh]\nhosts = ["127.0.0.1 port=1"]\n'),
                 "--backend", "ssh")
    assert gone == {"E-node"}, gone
    return found | killed | hung | gone


def of_programs(folder):
    for name, command in PROGRAM.items():
        ids = fails(folder, '[run]\nname = "own"\njob = "exec"\n[resources]\ngpus_per_node = 1\n'
                            f'[worker]\ncommand = ["sh", "-c", "{command}"]\n')
        assert ids == {name}, (name, ids)
    return set(PROGRAM)


def on_terminal(folder, *arguments):
    """Ids that a command prints on a terminal."""
    ours, its = pty.openpty()
    done = subprocess.run([BIN / "osora", *arguments], cwd=folder, env=environment(folder),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=its,
                          timeout=PATIENCE_S, check=False)
    os.write(its, b"\n")  # so that there is something to read
    text = os.read(ours, 1 << 16).decode()
    os.close(its)
    os.close(ours)
    assert done.returncode != 0, (arguments, done.stdout, text)
    assert ids_in(text), (arguments, done.stdout, text)
    return ids_in(text)


def of_commands(folder):
    (folder / "run.toml").write_text(run_file(steps=9))
    osora(folder, "submit", "run.toml")
    with open(folder / "state/runs/.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        busy = on_terminal(folder, "submit", "run.toml")  # it waits 10 s
    found = {"E-busy": busy,
             "E-disk": on_terminal(folder, "report", "1", "--out", "/dev/full"),
             "E-io": on_terminal(folder, "report", "1", "--out", str(folder)),
             "E-does-not-fit": on_terminal(folder, "submit", "run.toml", "--set",
                                           "memory.rank_memory_gib=0.001"),
             "E-unreachable": on_terminal(folder, "daemon", "stop")}
    osora(folder, "history", "export", "1", "--to", "runs.osora")
    os.truncate(folder / "runs.osora", 100)
    found["E-corrupt"] = on_terminal(folder, "history", "import", "runs.osora")
    for name, ids in found.items():
        assert ids == {name}, (name, ids)
    osora(folder, "submit", code=2)  # E-input: the message says all
    return set(found) | {"E-input"}


def of_clips(folder):
    """Ids of the kinds that `osora data check` finds; it finds each once."""
    clip = folder / "clip.mp4"
    subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=s=64x64:d=1:r=8",
                    str(clip)], check=True)
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "text.mp4").write_text("no video\n" * 99)
    (folder / "loop.mp4").symlink_to("loop.mp4")
    (folder / "clips.csv").write_text(
        "path,num_frames,height,width\nclip.mp4,8,64,64\nempty.mp4,8,64,64\ngone.mp4,8,64,64\n"
        "text.mp4,8,64,64\nloop.mp4,8,64,64\nclip.mp4,900,64,64\nclip.mp4,8,32,64\n"
        "clip.mp4,eight,64,64\n")
    answer = json.loads(osora(folder, "data", "check", "--manifest", "clips.csv", "--json", code=1))
    kinds = {each["kind"] for each in answer["damaged"]}
    ids = {json.loads(osora(folder, "explain", kind, "--json"))["errors"][0]["id"]
           for kind in kinds}
    expected = {f"E-clip-{kind}" for kind in ("damaged", "empty", "missing", "row", "short", "size",
                                              "unreadable")}
    assert ids == expected, ids ^ expected
    return ids


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "site.toml").write_text("")
        (folder / "clips.csv").write_text("path\n")
        known = {each["id"] for each in json.loads(osora(folder, "explain", "--json"))["errors"]}
        raised = of_workers(folder) | of_programs(folder) | of_commands(folder)
        if (BIN / "osora-clips").exists():
            raised |= of_clips(folder)
        else:
            raised |= {each for each in known if each.startswith("E-clip-")}
    for file, words in ELSEWHERE.values():
        assert words in (SOURCE / file).read_text(), (file, words)
    raised |= set(ELSEWHERE)
    assert raised == known, raised ^ known


if __name__ == "__main__":
    sys.exit(main())
