"""Runs osora for the benches of this folder: with a separate state folder, on CPU ranks."""
import json
import os
import subprocess
import sys


def run(program, folder, *words, gpu=False):
    """The finished process; its state and home are in `folder`, where it also runs."""
    environment = {**os.environ, "OSORA_STATE_DIR": str(folder / "state"), "HOME": str(folder)}
    if not gpu:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.run([program, *words], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def output(program, folder, *words):
    """What it printed. Ends the bench when osora fails: neither success nor 3, a slower run."""
    done = run(program, folder, *words)
    if done.returncode not in (0, 3):
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def rows(program, folder, query):
    """Of osora history sql, each as a dict."""
    answer = json.loads(output(program, folder, "history", "sql", query, "--format", "json"))
    return [dict(zip(answer["columns"], row)) for row in answer["rows"]]
