#!/usr/bin/env python3
"""growing.py BUILD [--nodes 1,2,4,8,16] [--rate 200mbit] [--steps 25]: one training job on more and
more nodes, predicted and rehearsed, with a small batch that is reduced parameter by parameter
behind barriers, and with the batch and the buckets that osora plans.

Nodes are those of tests/cluster/bed: network namespaces joined by shaped links (needs root). Links
and collectives of all nodes are probed once. Then each size is rehearsed: the collectives of the
training with ranks that sleep instead of computing, as the host of a GPU does. Efficiency is
samples/s over nodes times samples/s of one node. Exit code 1: a prediction is off by more than
15 %, the planned batch keeps less than 90 % at the last size, or the small one more than 60 %.
"""
import argparse
import json
import os
import sys
import tempfile

from shaped_steps import Cluster

RUN_FILE = """[run]
name = "{name}"
[resources]
backend = "slurm"
nodes = {nodes}
gpus_per_node = 1
cpus_per_worker = 1
time_limit = "00:20:00"
[model]
arch = "stdit3-tiny"
[[bucket]]
resolution = "64"
num_frames = 8
[batch]
{batch}
[parallel]
tp_size = 1
sp_size = 1
pp_size = 1
zero_stage = 0
[optim]
precision = "fp32"
[rehearse]
own_work = "sleep"
[probe]
before_start = "never"
[debug]
collectives = "{collectives}"
"""


def run_file(cluster, name, nodes, small):
    batch = (f"global_batch_size = {nodes}\nmin = 1" if small else
             "min = 1\nmax = 4096\nexposed_comm_target = 0.08")
    path = os.path.join(cluster.bed, f"{name}.toml")
    with open(path, "w") as out:
        out.write(RUN_FILE.format(name=name, nodes=nodes, batch=batch,
                                  collectives="per_parameter" if small else "bucketed"))
    return path


def rehearse(cluster, nodes, small, steps):
    """Planned batch, predicted and measured seconds of a step."""
    path = run_file(cluster, f"{'small' if small else 'planned'}-{nodes}", nodes, small)
    plan = json.loads(cluster.osora("plan", path, "--json", "--set", "run.job=rehearse"))
    answer = json.loads(cluster.osora("rehearse", path, "--steps", str(steps), "--json"))
    return {"nodes": nodes, "small": small,
            "batch": plan["chosen"]["buckets"][0]["global_batch_size"],
            "predicted_s": answer["predicted"]["step_s"], "measured_s": answer["step_s"]}


def efficiency(row, one, key):
    return row["batch"] / row[key] / (row["nodes"] * one["batch"] / one[key])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--nodes", default="1,2,4,8,16")
    parser.add_argument("--rate", default="200mbit")
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--json", help="write all rows to this file")
    args = parser.parse_args()
    sizes = [int(word) for word in args.nodes.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(folder, args.build, args.rate, nodes=sizes[-1])
        try:
            probed = run_file(cluster, "probed", sizes[-1], False)
            cluster.osora("probe", probed, "--nodes", str(sizes[-1]), "--collectives")
            for small in (True, False):
                for nodes in sizes:
                    row = rehearse(cluster, nodes, small, args.steps)
                    rows.append(row)
                    one = next(each for each in rows if each["small"] == small)
                    print(f"{'small' if small else 'planned':8} {nodes:3} nodes, batch "
                          f"{row['batch']:4}: predicted {1e3 * row['predicted_s']:7.1f} ms, "
                          f"measured {1e3 * row['measured_s']:7.1f} ms "
                          f"({100 * (row['predicted_s'] / row['measured_s'] - 1):+5.1f} %), "
                          f"efficiency {100 * efficiency(row, one, 'measured_s'):5.1f} %",
                          flush=True)
        finally:
            cluster.close()
    if args.json:
        with open(args.json, "w") as out:
            json.dump(rows, out)
    last = {row["small"]: efficiency(row, next(each for each in rows
                                               if each["small"] == row["small"]), "measured_s")
            for row in rows}
    off = max(abs(row["predicted_s"] / row["measured_s"] - 1) for row in rows)
    return off > 0.15 or last[False] < 0.9 or last[True] > 0.6


if __name__ == "__main__":
    sys.exit(main())
