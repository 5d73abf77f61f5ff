#!/usr/bin/env python3
"""Training steps of STDiT3 whose ranks share the network: osora against PyTorch, over Gloo.

  bench/trainer_vs_pytorch/layouts.py [--layouts tp2,pp2,tp4,pp4] [--model 288x2] [--pairs 10]
                                      [--build build] [--python PYTHON]

tpN: N ranks share linear layers; PyTorch's side is DTensor's parallelize_module (column and row
linears). ppN: N stages in 1F1B with micro-batches of one sample, 2 N of them; PyTorch's side is
torch.distributed.pipelining. Ranks are processes of this machine with one thread each. Both sides
begin with the same weights; PyTorch's loss and gradient norm are first compared with osora's on one
rank. Runs alternate; printed are the median of a step, the median ratio over the pairs with the
upper end of its 95 % bootstrap interval, and the largest memory of a rank.
"""
import json
import os
import random
import subprocess
import tempfile

import compare
import options


def sides_of(layout, args):
    """{name: command}, and the number of ranks."""
    kind, ranks = layout[:2], int(layout[2:])
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch_step.py")
    ours = [os.path.join(args.build, "bench/trainer_step"), "--model", args.model,
            f"--{kind}", str(ranks)]
    theirs = [args.python, script, "--model", args.model, "--sharing", kind]
    if kind == "pp":
        ours += ["--samples", str(2 * ranks), "--micro", "1"]
        theirs += ["--samples", str(2 * ranks)]
    return {"osora": ours, "pytorch": theirs}, ranks


def check_equal(theirs, case, args):
    """Largest relative difference of the peer's loss and norm from one rank's; stages train on
    the stored samples several times, so their means are the same."""
    program = [os.path.join(args.build, "bench/trainer_step"), "--model", args.model]
    one = compare.Peer(program, case, 1)
    worst = compare.check_equal(one, theirs, [args.bucket])
    one.close()
    return worst


def measure(layout, case, args, rng):
    commands, ranks = sides_of(layout, args)
    sides = {name: compare.Peer(command, case, ranks) for name, command in commands.items()}
    found = {"difference": check_equal(sides["pytorch"], case, args)}
    found |= compare.measure_bucket(sides, args.bucket, args, rng)
    found["peak_bytes"] = {name: max(a["peak_bytes"] for a in side.ask("memory -"))
                           for name, side in sides.items()}
    for side in sides.values():
        side.close()
    return found


def main():
    parser = options.parser_of(__doc__)
    parser.add_argument("--layouts", default="tp2,pp2,tp4,pp4")
    parser.add_argument("--model", default="288x2")
    parser.add_argument("--bucket", default="16x16x8")
    args = parser.parse_args()

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        case = os.path.join(folder, "case.safetensors")
        subprocess.run([os.path.join(args.build, "bench/trainer_step"), "--model", args.model,
                        "--dump", case], check=True)
        for layout in args.layouts.split(","):
            found[layout] = measure(layout, case, args, random.Random(1))
            if args.json:
                continue
            row, peaks = found[layout], found[layout]["peak_bytes"]
            print(f"{layout}: osora {row['osora_ms']:.1f} ms, PyTorch {row['pytorch_ms']:.1f} ms, "
                  f"ratio {row['wall_ratio']:.3f} (<= {row['wall_ratio_upper95']:.3f}), memory "
                  f"{peaks['osora'] / 1e6:.0f} and {peaks['pytorch'] / 1e6:.0f} MB, "
                  f"differs {row['difference']:.1e}",
                  flush=True)
    if args.json:
        print(json.dumps({"schema": "osora.bench.layouts_vs_pytorch/1", "model": args.model,
                          "bucket": args.bucket, "pairs": args.pairs, "layouts": found}))


if __name__ == "__main__":
    main()
