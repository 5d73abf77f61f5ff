#!/usr/bin/env python3
"""against_evaluate.py OSORA: the plans of 8 to 1,024 H100 against `osora plan evaluate`.

For each model, bucket and number of GPUs: step time and memory of the plan by both, and regret:
how much slower, by evaluate's equations, its layout is than the best of all legal ones at the same
global batch. Then the step times of all cuts that the plan looked at, by what their ranks share.
"""
import argparse
import json
import statistics
import subprocess

MODELS = [("stdit3-xl/2", "360p", 51), ("stdit3-xl/2", "720p", 51),
          ("stdit3-3b/2", "360p", 51), ("mmdit-11b", "360p", 51)]
GPUS = [8, 64, 256, 1024]
GPU, NODE, NIC_GBIT = "h100-80g-sxm", 8, 400
SIZES = ("tp_size", "pp_size", "sp_size", "dp_size", "zero_stage", "recompute", "precision")
FAR = 0.2  # step times that differ by more are listed with --all


def planned(osora, case, gpus):
    """The plan and its alternatives, each {"layout", "predicted"}."""
    model, resolution, frames = case
    words = [osora, "plan", "--model", model, "--gpu", GPU, "--gpus", str(gpus),
             "--nic-gbit", str(NIC_GBIT), "--bucket", f"{resolution}:{frames}", "--json"]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = json.loads(out)
    chosen = {"layout": found["chosen"], "predicted": found["predicted"]}
    return [chosen] + found["alternatives"]


def row(case, gpus, layout, ident):
    model, resolution, frames = case
    bucket = layout["buckets"][0]
    cluster = {"gpu": GPU, "nodes": gpus // NODE, "gpus_per_node": NODE,
               "nic_gbit_per_gpu": NIC_GBIT}
    sizes = {key: layout[key] for key in SIZES}
    sizes.update(micro_batch_size=bucket["micro_batch_size"],
                 grad_accum_steps=bucket["grad_accum_steps"],
                 sequence_parallel=layout["tp_size"] > 1)
    return {"id": ident, "cluster": cluster, "layout": sizes,
            "model": {"kind": "arch", "name": model, "resolution": resolution,
                      "num_frames": frames, "encoders": False}}


def evaluated(osora, case, gpus, layouts):
    rows = (row(case, gpus, layout, i) for i, layout in enumerate(layouts))
    text = "".join(json.dumps(each) + "\n" for each in rows)
    out = subprocess.run([osora, "plan", "evaluate"], check=True, input=text,
                         capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def divisors(number):
    return [each for each in range(1, number + 1) if number % each == 0]


def all_layouts(gpus, batch):
    """Of one global batch; at most 16 stages."""
    for tp in divisors(NODE):
        for sp in divisors(NODE // tp):
            for pp in divisors(gpus // tp // sp):
                dp = gpus // tp // sp // pp
                if pp > 16 or batch % dp:
                    continue
                for micro in divisors(batch // dp):
                    steps = batch // dp // micro
                    bucket = {"micro_batch_size": micro, "grad_accum_steps": steps}
                    for zero in range(4 if pp == 1 else 3):
                        for recompute in ("none", "selective", "full"):
                            yield {"tp_size": tp, "sp_size": sp, "pp_size": pp, "dp_size": dp,
                                   "zero_stage": zero, "recompute": recompute,
                                   "precision": "bf16", "buckets": [bucket]}


def name(layout):
    bucket = layout["buckets"][0]
    return (f"tp {layout['tp_size']} sp {layout['sp_size']} pp {layout['pp_size']} "
            f"ZeRO-{layout['zero_stage']} {layout['recompute']} "
            f"{bucket['micro_batch_size']} x {bucket['grad_accum_steps']}")


def kind(layout):
    return "+".join(key for key in ("tp", "sp", "pp") if layout[key + "_size"] > 1) or "dp"


def print_best(osora, case, gpus, chosen, answer):
    layouts = list(all_layouts(gpus, chosen["layout"]["buckets"][0]["global_batch_size"]))
    fitting = [each for each in evaluated(osora, case, gpus, layouts) if each.get("fits")]
    best = min(fitting, key=lambda each: each["step_time_s"])
    regret = answer["step_time_s"] / best["step_time_s"] - 1
    ours = chosen["predicted"]
    print(f"{case[0]:<12} {case[1]:>4} x {case[2]:>3} {gpus:>5}  "
          f"{ours['step_time_s']:6.3f} {answer['step_time_s']:6.3f}  "
          f"{ours['peak_memory_gib']:5.1f} {answer['peak_memory_gib']:5.1f}  "
          f"{100 * regret:5.1f} %  {name(chosen['layout'])}; {name(layouts[best['id']])}")


def seconds(values):
    return {key: round(value, 4) for key, value in values.items() if key.endswith("_s")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osora")
    parser.add_argument("--all", action="store_true", help="each layout that differs by over 20 %%")
    options = parser.parse_args()
    print(f"{'model':<12} {'bucket':<10} {'GPUs':>5}  {'plan s':>6} {'eval s':>6}  {'GiB':>5} "
          f"{'GiB':>5}  regret   layout; best of evaluate")
    by_kind = {}
    for case in MODELS:
        for gpus in GPUS:
            plans = planned(options.osora, case, gpus)
            answers = evaluated(options.osora, case, gpus, [each["layout"] for each in plans])
            print_best(options.osora, case, gpus, plans[0], answers[0])
            for plan, answer in zip(plans, answers):
                if "error" in answer:
                    print("   ", name(plan["layout"]), answer["error"])
                    continue
                ratio = plan["predicted"]["step_time_s"] / answer["step_time_s"]
                by_kind.setdefault(kind(plan["layout"]), []).append(ratio)
                if options.all and abs(ratio - 1) > FAR:
                    print(f"    {ratio:5.2f}  {name(plan['layout'])}\n"
                          f"      plan {seconds(plan['predicted'])}\n"
                          f"      eval {seconds(answer['parts'])}")
    print("\nstep time of the plan over that of evaluate, by what ranks share:")
    for shared, ratios in sorted(by_kind.items()):
        far = sum(abs(each - 1) > FAR for each in ratios)
        print(f"  {shared:<9} {len(ratios):>4} layouts  median {statistics.median(ratios):.2f}  "
              f"{min(ratios):.2f} to {max(ratios):.2f}  off by over 20 %: {far}")


if __name__ == "__main__":
    main()
