"""Runs osora for the benches of this folder: with a state folder of its own, on CPU ranks."""
import os
import subprocess
import sys


def run(program, folder, *words):
    """The finished process; its state and home are in `folder`, where it also runs."""
    environment = {**os.environ, "OSORA_STATE_DIR": str(folder / "state"), "HOME": str(folder),
                   "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([program, *words], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def output(program, folder, *words):
    """What it printed. Ends the bench when osora fails: neither success nor 3, a slower run."""
    done = run(program, folder, *words)
    if done.returncode not in (0, 3):
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
