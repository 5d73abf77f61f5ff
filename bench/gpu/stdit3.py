#!/usr/bin/env python3
"""stdit3.py OSORA [--gpu NAME] [--cases A,B]: STDiT3-XL/2 on one GPU, in Open-Sora's buckets.

Trains each case on random latents and captions from a cache and prints the time of a step, the
share of the GPU's bf16 rate that the model's operations reach (MFU), and the allocator's peak
beside the plan's. --depth shortens the network; MFU counts what is there. Needs a GPU.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import random_cache  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import osora_command  # noqa: E402

# Dense bf16, of the data sheets, FLOP/s.
RATES = {"h100": 989.4e12, "h200": 989.4e12, "a100": 312e12}
BUCKETS = {
    "144p:51": ("144p", 144, 256, 51), "240p:51": ("240p", 240, 432, 51),
    "360p:51": ("360p", 360, 640, 51), "480p:51": ("480p", 480, 848, 51),
    "720p:51": ("720p", 720, 1280, 51), "256:1": ("256", 256, 256, 1),
    "720p:1": ("720p", 720, 1280, 1), "360p:102": ("360p", 360, 640, 102),
}
# name, bucket, micro-batch, settings
CASES = {
    "144p": ("144p:51", "auto", []), "240p": ("240p:51", "auto", []),
    "360p": ("360p:51", "auto", []), "480p": ("480p:51", "auto", []),
    "720p": ("720p:51", "auto", []), "256i": ("256:1", "auto", []), "720i": ("720p:1", "auto", []),
    "360p2": ("360p:102", "auto", []),
    "none": ("360p:51", "1", ["memory.recompute=none"]),
    "selective": ("360p:51", "1", ["memory.recompute=selective"]),
    "full": ("360p:51", "1", ["memory.recompute=full"]),
    "bf16": ("360p:51", "1", ["memory.recompute=none", "memory.activation_store=bf16"]),
    "int8": ("360p:51", "1", ["memory.recompute=none", "memory.activation_store=int8",
                              "memory.allow_lossy=true"]),
    "offload": ("360p:51", "1", ["memory.recompute=none", "memory.activation_store=offload"]),
    # More than the GPU has: the pass is tried again in smaller micro-batches.
    "too_large": ("360p:51", "32", ["memory.recompute=none", "memory.gpu_memory_gib=1000"]),
}
RUN_FILE = """[run]
name = "{name}"
[resources]
gpus_per_node = 1
[model]
arch = "stdit3-xl/2"
depth = {depth}
[text]
embeddings = "{cache}"
[data]
latents = "{cache}"
host_memory_gib = 8
[[bucket]]
resolution = "{resolution}"
num_frames = {frames}
micro_batch_size = {micro}
[batch]
global_batch_size = "auto"
[optim]
precision = "bf16"
ema_decay = 0
[train]
steps = {steps}
[checkpoint]
every = 0
"""


def run_case(asked, folder, name):
    bucket, micro, settings = CASES[name]
    resolution, _, _, frames = BUCKETS[bucket]
    state = folder / name
    state.mkdir()
    if asked.calibration:
        (state / "state").mkdir(mode=0o700)
        shutil.copy(asked.calibration, state / "state/calibration.json")
    file = state / "run.toml"
    file.write_text(RUN_FILE.format(
        name="stdit3", depth=asked.depth, cache=folder / "cache", resolution=resolution,
        frames=frames, micro=micro if micro.isdigit() else '"auto"', steps=asked.steps))
    words = [word for setting in settings + asked.set for word in ("--set", setting)]
    if micro.isdigit():
        words += ["--set", f"batch.global_batch_size={micro}"]
    done = osora_command.run(asked.osora, state, "submit", str(file), *words, gpu=True)
    if done.returncode not in (0, 3):
        print(f"{name}: exit code {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
        return
    for line in done.stdout.splitlines():
        if "micro-batch" in line and " -> " in line:
            print(f"{name:10} {line}")
    print_case(asked, name, state)
    shutil.rmtree(state)


def print_case(asked, name, state):
    # A bucket's GFLOP are those of one forward and backward pass of a sample.
    found = osora_command.rows(asked.osora, state, "SELECT * FROM v_bucket")[0]
    steps = osora_command.rows(asked.osora, state, "SELECT * FROM v_step ORDER BY step")
    run = osora_command.rows(asked.osora, state, "SELECT * FROM v_run")[0]
    if asked.raw:
        print(json.dumps({"bucket": found, "run": run, "steps": steps}))
    seconds, peak = found["step_s"], max(each["peak_allocated_max_bytes"] for each in steps)
    flop = 1e9 * found["gflop_per_sample"] * found["samples_per_step"]
    predicted = found["predicted_peak_memory_gib"]
    print(f"{name:10} {found['bucket']:14} batch {found['samples_per_step']:3} in "
          f"{found['micro_batch_size']:3}, recompute {run['recompute']!s:9} step {seconds:7.3f} s "
          f"(planned {found['predicted_step_s']:7.3f}), MFU {flop / seconds / asked.rate:6.1%}, "
          f"peak {peak / 2**30:6.2f} GiB (planned {predicted:6.2f}), loss {steps[-1]['loss']:.4f}",
          flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("osora")
    options.add_argument("--gpu", default="h100", help=f"its rate: {', '.join(RATES)}")
    options.add_argument("--cases", default=",".join(CASES))
    options.add_argument("--depth", type=int, default=28, help="pairs of blocks")
    options.add_argument("--steps", type=int, default=12)
    options.add_argument("--calibration", help="of osora plan calibrate, for the plans")
    options.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                         help="for all cases, as osora submit takes it")
    options.add_argument("--raw", action="store_true", help="print rows of the history, too")
    options.add_argument("--folder", default="/dev/shm", help="for caches and checkpoints")
    asked = options.parse_args()
    asked.osora = str(pathlib.Path(asked.osora).resolve())
    asked.rate = RATES[asked.gpu]
    names = asked.cases.split(",")
    unknown = [name for name in names if name not in CASES]
    if unknown:
        sys.exit(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        folder = pathlib.Path(folder)
        buckets = {BUCKETS[CASES[name][0]] for name in names}
        random_cache.write(folder / "cache", sorted(buckets), clips=16, tokens=200, width=4096)
        for name in names:
            run_case(asked, folder, name)


if __name__ == "__main__":
    main()
