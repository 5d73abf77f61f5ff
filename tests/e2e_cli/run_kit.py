"""What end-to-end tests of the programs share: a run file for the mock worker, osora in a folder
of the test, and waiting."""
import os
import subprocess
import time
from pathlib import Path

BIN = Path(os.environ["OSORA_BIN_DIR"])
SOURCE = Path(os.environ["OSORA_SOURCE_DIR"])
PATIENCE_S = 60 * float(os.environ.get("OSORA_TEST_PATIENCE", "1"))
RUN_FILE = """
[run]
name = "demo"
[resources]
gpus_per_node = {ranks}
cpus_per_worker = 1
[data]
manifest = "clips.csv"
host_memory_gib = 1
[[bucket]]
resolution = "32"
num_frames = 4
[batch]
global_batch_size = 4
[train]
steps = {steps}
[checkpoint]
every = {checkpoint_every}
"""


def run_file(steps, checkpoint_every=10, ranks=2, more=""):
    """Text of a run file; `more` goes to its end."""
    return RUN_FILE.format(steps=steps, checkpoint_every=checkpoint_every, ranks=ranks) + more


def environment(folder, **more):
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "USER": "tester", "LANG": "C.UTF-8",
            "OSORA_STATE_DIR": str(folder / "state"),
            "OSORA_SITE_CONFIG": str(folder / "site.toml"),
            "OSORA_WORKER": str(BIN / "osora-worker-mock"), **more}


def osora(folder, *arguments, code=0, **more):
    """What it printed on both; it must end with this code, or one of these. more: variables."""
    done = subprocess.run([BIN / "osora", *arguments], cwd=folder, env=environment(folder, **more),
                          capture_output=True, text=True, timeout=10 * PATIENCE_S, check=False)
    codes = code if isinstance(code, tuple) else (code,)
    assert done.returncode in codes, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def eventually(condition, what):
    """The first true value of condition()."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE_S} s: {what}")
