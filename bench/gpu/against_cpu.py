#!/usr/bin/env python3
"""against_cpu.py OSORA [--only A,B]: the same small runs on the GPU and on the CPU.

Each case trains a few steps twice and compares the losses of every step; the random numbers of a
run do not depend on its device. Exit code 1 when a run fails or differs. Needs a GPU. To spend
little time on it, first run it elsewhere with --write FILE (the CPU's losses), then with --read.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import osora_command  # noqa: E402

TRAIN = """[run]
name = "check"
[resources]
gpus_per_node = 1
cpus_per_worker = 2
[model]
arch = "{arch}"
[data]
manifest = "{manifest}"
host_memory_gib = 1
[[bucket]]
resolution = "64"
num_frames = 8
micro_batch_size = 2
[[bucket]]
resolution = "32"
num_frames = 1
micro_batch_size = 4
[batch]
global_batch_size = 4
[optim]
precision = "fp32"
lr = 1e-3
warmup_steps = 2
[train]
steps = 8
[checkpoint]
every = 4
"""
LOSSY = ["memory.allow_lossy=true"]
# name: file, settings, relative difference allowed
CASES = {
    "stdit3": ("stdit3-tiny", [], 1e-3), "mmdit": ("mmdit-tiny", [], 1e-3),
    "stdit2": ("stdit2-tiny", [], 1e-3),
    "masks": ("stdit3-tiny", ["train.frame_masks={image_head=0.5,random=0.3}"], 1e-3),
    "full": ("stdit3-tiny", ["memory.recompute=full"], 1e-3),
    "selective": ("mmdit-tiny", ["memory.recompute=selective"], 1e-3),
    "store_bf16": ("stdit3-tiny", ["memory.activation_store=bf16", *LOSSY], 1e-2),
    "store_int8": ("stdit3-tiny", ["memory.activation_store=int8", *LOSSY], 1e-2),
    "store_offload": ("stdit3-tiny", ["memory.activation_store=offload"], 1e-3),
    "lora": ("stdit3-tiny", ["optim.lora_rank=4"], 1e-3),
    "offload_frozen": ("stdit3-tiny", ["optim.lora_rank=4", "memory.offload_frozen=true"], 1e-3),
    "bf16": ("stdit3-tiny", ["optim.precision=bf16"], 3e-2),
    "fp16": ("mmdit-tiny", ["optim.precision=fp16"], 3e-2),
    "deterministic": ("stdit3-tiny", ["train.deterministic=true"], 1e-3),
    "evaluation": ("stdit3-tiny", ["data.eval_manifest={manifest}", "eval.every=4",
                                   "eval.samples=8"], 1e-3),
    "progressive": ("stdit3-tiny", ["tune.progressive=true", "train.steps=20"], 1e-3),
    "unfused": ("stdit3-tiny", ["debug.attention=unfused"], 1e-3),
    "capped": ("stdit3-tiny", ["memory.rank_memory_gib=2"], 1e-3),
}


def osora(asked, state, device, *words):
    return osora_command.run(asked.osora, state, *words, gpu=device == "gpu")


def submitted(asked, folder, device, name):
    """A message when it failed, and the steps."""
    arch, settings, _ = CASES[name]
    state = folder / f"{name}-{device}"
    state.mkdir()
    (state / "run.toml").write_text(TRAIN.format(arch=arch, manifest=asked.manifest))
    # A CPU computes in bf16 and fp16 for minutes: the reference is fp32 there.
    words = [word for setting in settings
             if device == "gpu" or not setting.startswith("optim.precision")
             for word in ("--set", setting.replace("{manifest}", asked.manifest))]
    done = osora(asked, state, device, "submit", "run.toml", *words)
    if done.returncode not in (0, 3):
        logs = osora(asked, state, device, "logs", "1").stdout
        ends = [text[-1200:] for text in (done.stdout, done.stderr, logs)]
        return f"exit code {done.returncode}\n{''.join(ends)}", []
    steps = osora_command.rows(
        asked.osora, state, "SELECT step, loss, grad_norm, step_time_s FROM v_step ORDER BY step")
    ranks = osora_command.rows(asked.osora, state, "SELECT device FROM v_rank")
    return "" if ranks and ranks[0]["device"].startswith(
        "cuda" if device == "gpu" else "cpu") else f"it ran on {ranks}", steps


def difference(steps, others, key):
    return max((abs(a[key] - b[key]) / max(abs(b[key]), 1e-6)
                for a, b in zip(steps, others, strict=True)), default=float("nan"))


def compare(asked, folder, name):
    """Whether the runs agree, and a line."""
    results = {"cpu": asked.known[name]} if asked.known else {}
    for device in asked.devices:
        results[device] = submitted(asked, folder, device, name)
    for device, (problem, _) in results.items():
        if problem:
            return False, f"{name:15} {device}: {problem}"
    if asked.write:
        asked.written[name] = results["cpu"]
        return True, name
    gpu, cpu = results["gpu"][1], results["cpu"][1]
    if len(gpu) != len(cpu) or not gpu:
        return False, f"{name:15} {len(gpu)} and {len(cpu)} steps"
    loss, norm = difference(gpu, cpu, "loss"), difference(gpu, cpu, "grad_norm")
    median = sorted(each["step_time_s"] for each in gpu)[len(gpu) // 2]
    return loss <= CASES[name][2], (f"{name:15} loss {loss:8.1e}, gradient norm {norm:8.1e}, "
                                    f"{1e3 * median:6.1f} ms a step")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("osora")
    options.add_argument("--manifest", default=".deps/clips/clips.csv")
    options.add_argument("--only", default=",".join(CASES))
    options.add_argument("--together", type=int, default=5, help="runs at a time")
    options.add_argument("--write", help="a file for the CPU's losses; needs no GPU")
    options.add_argument("--read", help="the CPU's losses from such a file")
    asked = options.parse_args()
    asked.known = json.loads(pathlib.Path(asked.read).read_text()) if asked.read else {}
    asked.devices = ["cpu"] if asked.write else ["gpu"] if asked.read else ["gpu", "cpu"]
    asked.written = {}
    asked.osora = os.path.abspath(asked.osora)
    asked.manifest = os.path.abspath(asked.manifest)
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(asked.together) as pool:
        names = asked.only.split(",")
        agreed = True
        for fine, line in pool.map(lambda name: compare(asked, pathlib.Path(folder), name), names):
            print(line if fine else "DIFFERS " + line, flush=True)
            agreed = agreed and fine
    if asked.write:
        pathlib.Path(asked.write).write_text(json.dumps(asked.written))
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
