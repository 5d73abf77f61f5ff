#!/usr/bin/env python3
"""memory.py OSORA DATA: predicted against published peaks of device memory.

Allocated peaks (torch.cuda.max_memory_allocated, the fullest rank) of SimuMax's runs; reserved
peaks of torchtitan's, which are larger by what the allocator keeps; runs that did and did not fit.
Most terms are tensors counted in the frameworks' code; a few were chosen with these rows in view
(docs/rfc/027-plan-evaluate.md), so this is no blind test.
"""
import argparse

from published import korthikanti, megascale, sc21_table1, sc21_table2
from score import answers
from tables import cluster, gpt, layout, measured, mpt, open_sora, vtrain

B200, H100 = "b200-180g-sxm", "h100-96g"
VOCAB = 128256
LLAMA = {"8b": (32, 4096, 32, 8, 14336), "70b": (80, 8192, 64, 8, 28672),
         "405b": (126, 16384, 128, 8, 53248)}


def llama(size, seq_len, layers=None, kv_heads=None):
    known, hidden, heads, kv, ffn = LLAMA[size]
    return gpt(layers or known, hidden, heads, seq_len, VOCAB, kv_heads=kv_heads or kv,
               ffn_hidden=ffn)


def simumax():
    """MooreThreads/SimuMax@4dcaae51, b200_release_v1.2_summary.md, real_alloc: dense
    models on 8 B200, Megatron-LM with TransformerEngine, distributed optimizer, sequence parallel,
    bf16, nothing recomputed. model, layers, tp, cp, pp, dp, sequence, GiB."""
    runs = [("70b", 12, 1, 1, 2, 4, 4096, 66.55), ("70b", 12, 2, 1, 1, 4, 4096, 60.68),
            ("70b", 12, 4, 1, 1, 2, 4096, 39.07), ("70b", 12, 8, 1, 1, 1, 4096, 28.29),
            ("405b", 4, 1, 1, 2, 4, 4096, 87.08), ("405b", 4, 2, 1, 1, 4, 4096, 81.59),
            ("405b", 4, 4, 1, 1, 2, 4096, 52.89), ("405b", 4, 8, 1, 1, 1, 4096, 38.57),
            ("70b", 12, 2, 4, 1, 1, 32768, 68.43), ("70b", 12, 1, 8, 1, 1, 32768, 104.51),
            ("405b", 4, 2, 4, 1, 1, 32768, 87.03), ("405b", 4, 1, 8, 1, 1, 32768, 139.22),
            ("70b", 12, 2, 4, 1, 1, 131072, 112.67), ("70b", 12, 1, 8, 1, 1, 131072, 147.99),
            ("405b", 4, 2, 4, 1, 1, 131072, 118.13)]
    rows = []
    for size, layers, tp, cp, pp, dp, seq, gib in runs:
        for steps in (4, 8, 32) if seq == 4096 else (4,):
            rows.append(measured(
                llama(size, seq, layers, 16 if size == "405b" else 8), cluster(B200, 8, 400),
                layout(tp, pp, cp, dp, 1, 1, steps, "none", sequence_parallel=tp > 1), gib,
                "SimuMax, CP" if cp > 1 else "SimuMax, dense",
                run=f"{size} l{layers} tp{tp} cp{cp} pp{pp} dp{dp} s{seq} m{steps}"))
    return rows


def torchtitan():
    """pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md: tables 1 to 6, without
    float8 where a table has both. size, tp, pp, cp, dp, batch, sequence, virtual stages, recompute,
    GiB."""
    runs = [("8b", 1, 1, 1, 8, 2, 8192, 1, "selective", 82.4),
            ("8b", 1, 1, 1, 8, 2, 8192, 1, "selective", 77.0),
            ("8b", 1, 1, 1, 128, 2, 8192, 1, "selective", 67.0),
            ("8b", 1, 1, 1, 128, 2, 8192, 1, "selective", 62.0),
            ("8b", 1, 1, 1, 8, 1, 32768, 1, "full", 83.9),
            ("8b", 1, 1, 2, 4, 1, 65536, 1, "full", 84.2),
            ("8b", 1, 1, 4, 2, 1, 131072, 1, "full", 84.0),
            ("8b", 1, 1, 8, 1, 1, 262144, 1, "full", 84.5),
            ("70b", 8, 1, 1, 32, 16, 8192, 1, "full", 71.9),
            ("70b", 8, 1, 1, 32, 16, 8192, 1, "full", 67.6),
            ("405b", 8, 8, 1, 8, 32, 8192, 1, "full", 82.5),
            ("405b", 8, 8, 1, 8, 32, 8192, 2, "full", 72.7),
            ("405b", 8, 8, 1, 8, 8, 32768, 1, "full", 75.3),
            ("405b", 8, 8, 2, 4, 8, 65536, 1, "full", 75.9),
            ("405b", 8, 8, 4, 2, 8, 131072, 1, "full", 77.1),
            ("405b", 8, 8, 8, 1, 8, 262144, 1, "full", 84.9)]
    rows = []
    for size, tp, pp, cp, dp, batch, seq, virtual, recompute, gib in runs:
        # A pipeline has as many micro-batches as stages (the default of torchtitan then).
        steps = pp
        rows.append(measured(
            llama(size, seq), cluster(H100, tp * pp * cp * dp, 400),
            layout(tp, pp, cp, dp, 2 if pp > 1 else 3, batch // steps, steps, recompute,
                   virtual_stages=virtual, sequence_parallel=tp > 1), gib, "torchtitan",
            run=f"{size} tp{tp} pp{pp} cp{cp} dp{dp} b{batch} s{seq} v{virtual} {recompute}"))
    return rows


def outcomes(data):
    """Rows and whether they ran: published runs, and torchtitan@528cab939, performance.md, on
    64 A100 of 80 GB, where two layouts ran out of memory."""
    ran = vtrain(data) + mpt(data) + sc21_table1() + sc21_table2() + korthikanti() + megascale()
    found = [(row, True) for row in ran + open_sora(data)]
    shapes = {"13b": gpt(40, 5120, 40, 4096, 32000, ffn_hidden=13824),
              "70b": gpt(80, 8192, 64, 4096, 32000, kv_heads=8, ffn_hidden=28672)}
    for size, batch, recompute, fits in (("13b", 2, "none", True), ("13b", 2, "selective", True),
                                         ("70b", 2, "selective", False),
                                         ("70b", 1, "selective", True), ("70b", 2, "full", True)):
        row = measured(shapes[size], cluster("a100-80g-sxm", 64, 200),
                       layout(dp=64, zero=3, mbs=batch, recompute=recompute), 0, "torchtitan 2024",
                       run=f"{size} b{batch} {recompute}")
        found.append((row, fits))
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("osora")
    options.add_argument("data", help="folder of the fit tables")
    options.add_argument("--rows", action="store_true", help="print each row")
    asked = options.parse_args()
    for rows in (simumax(), torchtitan()):
        groups = {}
        for row, answer in zip(rows, answers(asked.osora, rows)):
            error = answer["peak_memory_gib"] / row["seconds"] - 1
            groups.setdefault(row["group"], []).append(error)
            if asked.rows:
                print(f'{row["labels"]["run"]:48} {row["seconds"]:7.2f} GiB, predicted '
                      f'{answer["peak_memory_gib"]:7.2f} {error:+7.2%}')
        for name, errors in groups.items():
            mean = sum(map(abs, errors)) / len(errors)
            most = max(map(abs, errors))
            print(f"{name:20} {len(errors):4} rows, mean {mean:.2%}, max {most:.2%}")
    known = outcomes(asked.data)
    wrong = [(row, fits, answer) for (row, fits), answer in
             zip(known, answers(asked.osora, [row for row, _ in known]))
             if answer["fits"] != fits]
    print(f"outcomes             {len(known):4} rows, {len(wrong)} wrong")
    for row, fits, answer in wrong[:40]:
        print(f'  {row["group"]} {row["labels"]}: {"ran" if fits else "did not fit"}, predicted '
              f'{answer["peak_memory_gib"]:.1f} GiB')


if __name__ == "__main__":
    main()
