#!/usr/bin/env python3
"""against_evaluate.py OSORA: the plans of 8 to 1,024 H100 against `osora plan evaluate`.

For each model, bucket and number of GPUs: step times of the layouts that both predict, and how much slower, by
evaluate's equations, the layout of the plan is than the best of all legal ones at the same global batch (regret).
"""
import argparse
import json
import statistics
import subprocess

MODELS = [("stdit3-xl/2", "360p", 51), ("stdit3-xl/2", "720p", 51), ("stdit3-3b/2", "360p", 51), ("mmdit-11b", "360p", 51)]
GPUS = [8, 64, 256, 1024]
NODE = 8


def planned(osora, model, resolution, frames, gpus):
    words = [osora, "plan", "--model", model, "--gpu", "h100-80g-sxm", "--gpus", str(gpus), "--nic-gbit", "400",
             "--bucket", f"{resolution}:{frames}", "--top", "1000", "--json"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    chosen = {"layout": found["chosen"], "predicted": found["predicted"]}
    return [chosen] + found["alternatives"]


def row(model, resolution, frames, gpus, layout, ident):
    bucket = layout["buckets"][0]
    return {"id": ident,
            "model": {"kind": "arch", "name": model, "resolution": resolution, "num_frames": frames, "encoders": False},
            "cluster": {"gpu": "h100-80g-sxm", "nodes": max(1, gpus // NODE), "gpus_per_node": min(NODE, gpus),
                        "nic_gbit_per_gpu": 400},
            "layout": {**{key: layout[key] for key in
                          ("tp_size", "pp_size", "sp_size", "dp_size", "zero_stage", "recompute", "precision")},
                       "micro_batch_size": bucket["micro_batch_size"], "grad_accum_steps": bucket["grad_accum_steps"],
                       "sequence_parallel": layout["tp_size"] > 1}}


def evaluated(osora, rows):
    text = "".join(json.dumps(each) + "\n" for each in rows)
    out = subprocess.run([osora, "plan", "evaluate"], check=True, input=text, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def divisors(number):
    return [each for each in range(1, number + 1) if number % each == 0]


def all_layouts(gpus, global_batch):
    for tp in divisors(min(NODE, gpus)):
        for sp in divisors(min(NODE, gpus) // tp):
            for pp in divisors(gpus // tp // sp):
                dp = gpus // tp // sp // pp
                if pp > 16 or global_batch % dp:
                    continue
                for micro in divisors(global_batch // dp):
                    for zero in (0, 1, 2, 3) if pp == 1 else (0, 1, 2):
                        for recompute in ("none", "selective", "full"):
                            yield {"tp_size": tp, "sp_size": sp, "pp_size": pp, "dp_size": dp, "zero_stage": zero,
                                   "recompute": recompute, "precision": "bf16",
                                   "buckets": [{"micro_batch_size": micro,
                                                "grad_accum_steps": global_batch // dp // micro}]}


def name(layout):
    bucket = layout["buckets"][0]
    return (f"tp {layout['tp_size']} sp {layout['sp_size']} pp {layout['pp_size']} ZeRO-{layout['zero_stage']} "
            f"{layout['recompute']} {bucket['micro_batch_size']}x{bucket['grad_accum_steps']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osora")
    parser.add_argument("--all", action="store_true", help="each layout that the two see differently by over 20 %%")
    options = parser.parse_args()
    print(f"{'model':<12} {'bucket':<8} {'GPUs':>5}  {'plan s':>7} {'eval s':>7}  {'GiB':>5} {'GiB':>5}  regret  layout; best")
    by_kind = {}
    for model, resolution, frames in MODELS:
        for gpus in GPUS:
            both = planned(options.osora, model, resolution, frames, gpus)
            answers = evaluated(options.osora,
                                [row(model, resolution, frames, gpus, each["layout"], i) for i, each in enumerate(both)])
            batch = both[0]["layout"]["buckets"][0]["global_batch_size"]
            layouts = list(all_layouts(gpus, batch))
            rows = [row(model, resolution, frames, gpus, each, i) for i, each in enumerate(layouts)]
            best = min((each for each in evaluated(options.osora, rows) if each.get("fits")),
                       key=lambda each: each["step_time_s"], default=None)
            ours, theirs = both[0]["predicted"], answers[0]
            regret = theirs["step_time_s"] / best["step_time_s"] - 1 if best and "error" not in theirs else float("nan")
            print(f"{model:<12} {resolution:>4} x{frames:>3} {gpus:>5}  {ours['step_time_s']:7.3f} "
                  f"{theirs.get('step_time_s', float('nan')):7.3f}  {ours['peak_memory_gib']:5.1f} "
                  f"{theirs.get('peak_memory_gib', float('nan')):5.1f} {100 * regret:6.1f} %  {name(both[0]['layout'])}; "
                  f"{name(layouts[best['id']]) if best else 'none fits'}")
            for each, answer in zip(both, answers):
                if "error" in answer:
                    print("   ", name(each["layout"]), answer["error"])
                    continue
                layout = each["layout"]
                kind = "+".join(key for key in ("tp", "sp", "pp") if layout[key + "_size"] > 1) or "dp"
                ratio = each["predicted"]["step_time_s"] / answer["step_time_s"]
                by_kind.setdefault(kind, []).append(ratio)
                if options.all and abs(ratio - 1) > 0.2:
                    parts = {key: round(value, 4) for key, value in answer["parts"].items()}
                    p = {key: round(value, 4) for key, value in each["predicted"].items() if key.endswith("_s")}
                    print(f"    {ratio:5.2f}  {name(layout)}\n      plan {p}\n      eval {parts}")
    print("\nstep time of the plan over that of evaluate, by what is shared:")
    for kind, ratios in sorted(by_kind.items()):
        off = sum(abs(each - 1) > 0.2 for each in ratios)
        print(f"  {kind:<9} {len(ratios):>4} layouts  median {statistics.median(ratios):.2f}  "
              f"{min(ratios):.2f} to {max(ratios):.2f}  off by over 20 %: {off}")


if __name__ == "__main__":
    main()
