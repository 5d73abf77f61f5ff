"""Multi-node runs of papers. None was fitted to: they check what the tables gave."""
from tables import A100, H100, cluster, gpt, layout, measured

SEQ, VOCAB = 2048, 51200


def narayanan_flops(batch, layers, hidden):
    """arXiv 2104.04473, equation 3: of a step with full recompute."""
    return (96 * batch * SEQ * layers * hidden**2 *
            (1 + SEQ / (6 * hidden) + VOCAB / (16 * layers * hidden)))


def sc21_table1():
    """arXiv 2104.04473, table 1; micro-batches and stages: NVIDIA/Megatron-LM,
    examples/sc21/run_table_1.sh. layers, hidden, heads, tp, pp, gpus, batch, mbs, virtual,
    TFLOP/s of a GPU."""
    runs = [(24, 2304, 24, 1, 1, 32, 512, 16, 1, 137), (30, 3072, 32, 2, 1, 64, 512, 16, 1, 138),
            (36, 4096, 32, 4, 1, 128, 512, 16, 1, 142), (40, 6144, 48, 8, 1, 256, 1024, 8, 1, 135),
            (48, 8192, 64, 8, 2, 512, 1536, 4, 1, 138),
            (60, 10240, 80, 8, 4, 1024, 1792, 2, 3, 140),
            (80, 12288, 96, 8, 8, 1536, 2304, 2, 2, 148),
            (96, 16384, 128, 8, 16, 1920, 2160, 1, 2, 155),
            (105, 20480, 128, 8, 35, 2520, 2520, 1, 3, 163),
            (128, 25600, 160, 8, 64, 3072, 3072, 1, 1, 163)]
    return [megatron(layers, hidden, heads, tp, pp, gpus, batch, mbs, virtual,
                     narayanan_flops(batch, layers, hidden) / (gpus * rate * 1e12), "sc21-1")
            for layers, hidden, heads, tp, pp, gpus, batch, mbs, virtual, rate in runs]


def megatron(layers, hidden, heads, tp, pp, gpus, batch, mbs, virtual, seconds, group, **more):
    dp = gpus // tp // pp
    return measured(gpt(layers, hidden, heads, SEQ, VOCAB), cluster(A100, gpus, 200),
                    layout(tp, pp, 1, dp, 0, mbs, batch // dp // mbs, virtual_stages=virtual,
                           **more), seconds, group,
                    run=f"{layers}x{hidden} on {gpus}, batch {batch}")


def sc21_table2():
    """arXiv 2104.04473, table 2, PTD-P rows: model parallel sizes 96 and 280. gpus, batch,
    TFLOP/s."""
    small = [(384, 1536, 153), (768, 1536, 149), (1536, 1536, 141)]
    large = [(560, 2240, 171), (1120, 2240, 167), (2240, 2240, 159)]
    runs = [(96, 12288, 96, 12, *each) for each in small]
    runs += [(105, 20480, 128, 35, *each) for each in large]
    return [megatron(layers, hidden, heads, 8, pp, gpus, batch, 1, 1,
                     narayanan_flops(batch, layers, hidden) / (gpus * rate * 1e12), "sc21-2")
            for layers, hidden, heads, pp, gpus, batch, rate in runs]


def korthikanti():
    """arXiv 2205.05198, table 5: full recompute, then sequence parallel with selective."""
    runs = [(48, 6144, 64, 1, 4, 4, 1, 1.42, 1.10), (96, 12288, 96, 8, 64, 1, 3, 18.13, 13.75),
            (105, 20480, 128, 35, 280, 1, 3, 49.05, 37.83),
            (128, 25600, 160, 64, 512, 1, 1, 94.42, 71.49)]
    rows = []
    for layers, hidden, heads, pp, batch, mbs, virtual, full, selective in runs:
        shape = (layers, hidden, heads, 8, pp, 8 * pp, batch, mbs, virtual)
        rows.append(megatron(*shape, full, "korthikanti-full"))
        rows.append(megatron(*shape, selective, "korthikanti-selective", recompute="selective",
                             sequence_parallel=True))
    # Section 6.3: the 530B of table 5 with data parallel 8.
    rows.append(megatron(105, 20480, 128, 8, 35, 2240, 2240, 1, 3, 39.15, "korthikanti-selective",
                         recompute="selective", sequence_parallel=True))
    return rows


def megascale():
    """arXiv 2402.15627, table 2, Megatron-LM's rows: 175B, tp 8, pp 8, 6 stages a rank. Its
    micro-batches and recomputation are not printed: 1, and selective with sequence parallel."""
    runs = [(256, 768, 40.0), (512, 768, 21.2), (768, 768, 15.2), (1024, 768, 11.9),
            (3072, 6144, 29.02), (6144, 6144, 14.78), (8192, 6144, 12.24), (12288, 6144, 8.57)]
    return [megatron(96, 12288, 96, 8, 8, gpus, batch, 1, 6, seconds, "megascale",
                     recompute="selective", sequence_parallel=True)
            for gpus, batch, seconds in runs]


def llama3():
    """arXiv 2407.21783, table 4: 405B, 16M tokens a step, TFLOP/s counted as 6 a parameter and
    token, and attention (12 l h s, halved: causal). gpus, sequence, cp, dp, sequences of a dp
    rank, TFLOP/s. Stages of a rank are not printed: 8, one layer each."""
    rows = []
    runs = [(8192, 8192, 1, 64, 32, 430), (16384, 8192, 1, 128, 16, 400),
            (16384, 131072, 16, 8, 16, 380)]
    for gpus, seq, cp, dp, batch, rate in runs:
        tokens = dp * batch * seq
        flops = tokens * (6 * 405e9 + 6 * 126 * 16384 * seq)
        model = gpt(126, 16384, 128, seq, 128256, kv_heads=8, ffn_hidden=53248)
        rows.append(measured(model, cluster(H100, gpus, 400),
                             layout(8, 16, cp, dp, 1, 1, batch, "none",
                                    virtual_stages=8, sequence_parallel=True),
                             flops / (gpus * rate * 1e12), "llama3",
                             run=f"405B on {gpus}, cp {cp}"))
    return rows


SETS = {"SC'21 table 1": sc21_table1, "SC'21 table 2": sc21_table2, "Korthikanti": korthikanti,
        "MegaScale (Megatron-LM)": megascale, "Llama 3 405B": llama3}
