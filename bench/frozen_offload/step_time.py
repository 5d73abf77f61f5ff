#!/usr/bin/env python3
"""step_time.py OSORA [--pairs N]: step time and memory with frozen blocks in host memory.

Trains adapters of a small STDiT3, and a small MMDiT whose blocks are frozen, on one CPU rank with
memory.offload_frozen = true and false, which take turns. The rank computes on one core; the thread
that stands for a GPU's copy engine needs another one. Exit code 1: the median ratio of step times
is above 1.10, or more than two blocks' frozen weights are in the memory that is counted.
"""
import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import osora_command  # noqa: E402

CLIPS = Path(__file__).resolve().parents[2] / ".deps/clips/clips.csv"
MOST_RATIO, SLACK = 1.10, 1.02  # SLACK: alignment, and what malloc rounds up
HIDDEN, DEPTH, STEPS = 384, 4, 14
RUN_FILE = f"""[run]
name = "offload"
[resources]
gpus_per_node = 1
cpus_per_worker = 1
bind_cpus = "never"
[model]
arch = "ARCH"
hidden = {HIDDEN}
depth = {DEPTH}
MODEL
[data]
manifest = "{CLIPS}"
host_memory_gib = 1
[[bucket]]
resolution = "32"
num_frames = 4
micro_batch_size = 1
[batch]
global_batch_size = 1
[optim]
OPTIM
ema_decay = 0
[train]
steps = {STEPS}
[checkpoint]
every = 0
"""
C = HIDDEN
# Frozen values of a block: STDiT3's attention, cross attention, MLP, norms, table.
STDIT3_BLOCK = 16 * C * C + 19 * C + 2 * C // 4
# MMDiT's double block: two streams with modulation, attention, MLP, norms; and its single block.
DOUBLE = 2 * (18 * C * C + 15 * C + 2 * C // 4)
SINGLE = 15 * C * C + 11 * C + 2 * C // 4
CASES = {
    "STDiT3, adapters": ("stdit3-tiny", "", "lora_rank = 8",
                         2 * DEPTH * STDIT3_BLOCK, 2 * STDIT3_BLOCK),
    "MMDiT, blocks frozen": ("mmdit-tiny", f"single_depth = {DEPTH}",
                             'freeze = ["double_blocks.", "single_blocks."]',
                             DEPTH * (DOUBLE + SINGLE), 2 * DOUBLE),
}


def osora(folder, *arguments):
    return osora_command.output(ARGUMENTS.osora, folder, *arguments)


def measured(folder, offload):
    osora(folder, "submit", "run.toml", "--set",
          f"memory.offload_frozen={'true' if offload else 'false'}")
    return json.loads(osora(folder, "report", "offload", "--json"))["measured"]


def compare(name):
    """Whether both limits are kept."""
    arch, model, optim, frozen, two_blocks = CASES[name]
    ratios, peaks = [], {}
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        (folder / "run.toml").write_text(
            RUN_FILE.replace("ARCH", arch).replace("MODEL", model).replace("OPTIM", optim))
        for pair in range(ARGUMENTS.pairs):
            times = {}
            for offload in (False, True) if pair % 2 == 0 else (True, False):
                run = measured(folder, offload)
                times[offload] = run["step_s_median"]
                peaks[offload] = run["peak_allocated_bytes"]
            ratios.append(times[True] / times[False])
    ratio = statistics.median(ratios)
    # What of the frozen weights is in the counted peak; the rest of the peak is that of both runs.
    held = peaks[True] - (peaks[False] - 4 * frozen)
    print(f"{name}: step time {ratio:.3f} x ({min(ratios):.3f} to {max(ratios):.3f}, "
          f"{len(ratios)} pairs); "
          f"peak {peaks[False] / 2**20:.1f} -> {peaks[True] / 2**20:.1f} MiB; "
          f"frozen weights {4 * frozen / 2**20:.1f} -> {held / 2**20:.1f} MiB, two blocks are "
          f"{4 * two_blocks / 2**20:.1f}", flush=True)
    return ratio <= MOST_RATIO and held <= SLACK * 4 * two_blocks


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osora")
    parser.add_argument("--pairs", type=int, default=10)
    ARGUMENTS = parser.parse_args()
    ARGUMENTS.osora = str(Path(ARGUMENTS.osora).resolve())
    sys.exit(0 if all([compare(name) for name in CASES]) else 1)
