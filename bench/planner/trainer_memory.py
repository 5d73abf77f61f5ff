#!/usr/bin/env python3
"""trainer_memory.py OSORA [--rows]: predicted against counted peaks of the trainer's memory.

Trains three steps of each configuration on this machine's cores and compares the peak of the
allocator, over ranks and steps, with the plan's.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

STDIT3, MMDIT = "stdit3-tiny", "mmdit-tiny"
# arch, resolution, frames, batch, ranks, settings
CONFIGURATIONS = [
    (STDIT3, 48, 4, 2, 1, []), (STDIT3, 48, 4, 8, 1, []), (STDIT3, 32, 8, 4, 1, []),
    (STDIT3, 32, 1, 8, 1, []), (STDIT3, 32, 1, 64, 1, []), (STDIT3, 64, 8, 4, 1, []),
    (STDIT3, 96, 16, 2, 1, []), (STDIT3, 64, 16, 3, 1, []), (STDIT3, 128, 8, 2, 1, []),
    (STDIT3, 64, 8, 4, 1, ["memory.recompute=full"]),
    (STDIT3, 64, 8, 4, 1, ["memory.recompute=selective"]),
    (STDIT3, 64, 8, 4, 1, ["memory.recompute=2"]),
    (STDIT3, 96, 16, 2, 1, ["memory.recompute=full"]),
    (STDIT3, 64, 8, 4, 1, ["memory.activation_store=bf16", "memory.allow_lossy=true"]),
    (STDIT3, 64, 8, 4, 1, ["memory.activation_store=int8", "memory.allow_lossy=true"]),
    (STDIT3, 64, 8, 4, 1, ["optim.lora_rank=8"]),
    (STDIT3, 64, 8, 4, 1, ["optim.ema_decay=0"]),
    (STDIT3, 32, 4, 2, 1, ["optim.precision=bf16"]),
    (STDIT3, 48, 4, 4, 1, ["optim.precision=bf16"]),
    (STDIT3, 64, 8, 8, 2, []), (STDIT3, 64, 8, 8, 2, ["parallel.zero_stage=1"]),
    (STDIT3, 64, 8, 8, 2, ["parallel.zero_stage=2"]),
    (STDIT3, 64, 8, 8, 2, ["parallel.zero_stage=3"]),
    (STDIT3, 64, 8, 4, 2, ["parallel.tp_size=2"]), (STDIT3, 64, 8, 4, 2, ["parallel.sp_size=2"]),
    (STDIT3, 64, 8, 4, 2, ["parallel.pp_size=2"]),
    (STDIT3, 64, 8, 4, 2, ["parallel.tp_size=2", "parallel.zero_stage=1"]),
    (STDIT3, 96, 16, 2, 2, ["parallel.sp_size=2", "memory.recompute=full"]),
    (MMDIT, 48, 4, 2, 1, []), (MMDIT, 48, 4, 8, 1, []), (MMDIT, 64, 8, 4, 1, []),
    (MMDIT, 32, 1, 32, 1, []), (MMDIT, 96, 8, 2, 1, []), (MMDIT, 64, 16, 2, 1, []),
    (MMDIT, 64, 8, 4, 1, ["memory.recompute=full"]),
    (MMDIT, 64, 8, 4, 1, ["memory.recompute=selective"]),
    (MMDIT, 64, 8, 4, 1, ["memory.recompute=2"]), (MMDIT, 64, 8, 4, 1, ["optim.lora_rank=8"]),
    (MMDIT, 64, 8, 4, 1, ["memory.activation_store=int8", "memory.allow_lossy=true"]),
    (MMDIT, 64, 8, 8, 2, []), (MMDIT, 64, 8, 8, 2, ["parallel.zero_stage=2"]),
    (MMDIT, 64, 8, 8, 2, ["parallel.zero_stage=3"]),
    (MMDIT, 64, 8, 4, 2, ["parallel.tp_size=2"]), (MMDIT, 64, 8, 4, 2, ["parallel.sp_size=2"]),
    (MMDIT, 64, 8, 4, 2, ["parallel.pp_size=2"]),
]

RUN_FILE = """[run]
name = "memory"
job = "train"
[resources]
backend = "local"
gpus_per_node = {ranks}
cpus_per_worker = 1
[model]
arch = "{arch}"
[data]
manifest = "{manifest}"
host_memory_gib = 1
[[bucket]]
resolution = "{resolution}"
num_frames = {frames}
micro_batch_size = {micro}
[batch]
global_batch_size = {batch}
[optim]
precision = "fp32"
[train]
steps = 3
[checkpoint]
every = 1000000
"""


def osora(program, state, *words):
    environment = dict(os.environ, OSORA_STATE_DIR=state, CUDA_VISIBLE_DEVICES="")
    done = subprocess.run([program, *words], env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"osora {' '.join(words)}: exit {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def peaks(program, state, manifest, number, configuration):
    """GiB: predicted, counted."""
    arch, resolution, frames, batch, ranks, settings = configuration
    together = 1
    for setting in settings:
        if setting.split("=")[0] in ("parallel.tp_size", "parallel.sp_size", "parallel.pp_size"):
            together *= int(setting.split("=")[1])
    # A pipeline needs several micro-batches.
    micro = batch * together // ranks // (4 if "parallel.pp_size=2" in settings else 1)
    file = os.path.join(state, f"{number}.toml")
    with open(file, "w") as out:
        out.write(RUN_FILE.format(arch=arch, resolution=resolution, frames=frames, batch=batch,
                                  ranks=ranks, micro=micro, manifest=manifest))
    words = [word for setting in settings for word in ("--set", setting)]
    plan = json.loads(osora(program, state, "plan", file, "--json", *words))
    osora(program, state, "submit", file, *words)
    run = json.loads(osora(program, state, "report", str(number), "--json"))
    return plan["predicted"]["peak_memory_gib"], counted(run)


def counted(run):
    return run["measured"]["peak_allocated_bytes"] / 2**30


def square_clips(manifest, folder):
    """Of the manifest, so that each bucket has one shape."""
    with open(manifest, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["height"] == row["width"]]
    name = os.path.join(folder, "square.csv")
    with open(name, "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        for row in rows:
            row["path"] = os.path.join(os.path.dirname(os.path.abspath(manifest)), row["path"])
            writer.writerow(row)
    return name


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("osora")
    options.add_argument("--manifest", default=".deps/clips/clips.csv")
    options.add_argument("--rows", action="store_true", help="print each configuration")
    asked = options.parse_args()
    errors = []
    with tempfile.TemporaryDirectory() as state:
        manifest = square_clips(asked.manifest, state)
        for number, configuration in enumerate(CONFIGURATIONS, 1):
            predicted, measured = peaks(asked.osora, state, manifest, number, configuration)
            errors.append(predicted / measured - 1)
            if asked.rows:
                arch, resolution, frames, batch, ranks, settings = configuration
                print(f"{arch:12} {resolution:3} x {frames:2} x {batch:2}, {ranks} ranks "
                      f"{' '.join(settings):60} {1024 * measured:8.1f} MiB, predicted "
                      f"{1024 * predicted:8.1f} {errors[-1]:+7.1%}")
                sys.stdout.flush()
    print(f"{len(errors)} configurations, mean {sum(map(abs, errors)) / len(errors):.2%}, "
          f"max {max(map(abs, errors)):.2%}, missed {sum(e < -0.03 for e in errors)}")


if __name__ == "__main__":
    main()
