"""Measured tables as rows of `osora plan evaluate`. A row that is measured is a dict of
`row` (what goes in), `seconds` (what was measured), `group` (layouts one would choose among)."""
import csv
import os

A100, H100 = "a100-80g-sxm", "h100-80g-sxm"


def measured(model, cluster, layout, seconds, group, **labels):
    row = {"model": model, "cluster": cluster, "layout": layout}
    return {"row": row, "seconds": seconds, "group": group, "labels": labels}


def gpt(layers, hidden, heads, seq_len, vocab, **more):
    return {"kind": "gpt", "layers": layers, "hidden": hidden, "heads": heads, "seq_len": seq_len,
            "vocab": vocab, **more}


def cluster(gpu, gpus, gbit):
    return {"gpu": gpu, "nodes": -(-gpus // 8), "gpus_per_node": min(8, gpus),
            "nic_gbit_per_gpu": gbit}


def layout(tp=1, pp=1, sp=1, dp=1, zero=0, mbs=1, steps=1, recompute="full", **more):
    return {"tp_size": tp, "pp_size": pp, "sp_size": sp, "dp_size": dp, "zero_stage": zero,
            "micro_batch_size": mbs, "grad_accum_steps": steps, "recompute": recompute,
            "precision": "bf16", **more}


def table(folder, name):
    with open(os.path.join(folder, name), newline="") as file:
        return list(csv.DictReader(file))


def vtrain(folder):
    """VIA-Research/vTrain, data/ground_truth_single.csv: Megatron-DeepSpeed on 1 to 8 A100."""
    rows = []
    for x in table(folder, "vtrain_single_node_fit.csv"):
        n = {key: int(x[key]) for key in ("gpus", "global_batch", "micro_batch", "hidden", "heads",
                                          "layers", "seqlen", "tp", "dp", "pp")}
        rows.append(measured(
            gpt(n["layers"], n["hidden"], n["heads"], n["seqlen"], 51200),
            cluster(A100, n["gpus"], 100),
            layout(n["tp"], n["pp"], 1, n["dp"], 0, n["micro_batch"],
                   n["global_batch"] // n["dp"] // n["micro_batch"]),
            float(x["iter_time_ms"]) / 1e3,
            (n["gpus"], n["hidden"], n["layers"], n["global_batch"]),
            hidden=n["hidden"], tp=n["tp"], pp=n["pp"], dp=n["dp"], mbs=n["micro_batch"],
            layers=n["layers"]))
    return rows


def mpt(folder):
    """mosaicml/llm-foundry, scripts/train/benchmarking: PyTorch's FSDP."""
    gpus = {"h100_80gb": (H100, 400), "a100_80gb": (A100, 200), "a100_40gb": ("a100-40g-sxm", 200)}
    rows = []
    for x in table(folder, "llmfoundry_mpt_throughput_fit.csv"):
        gpu, gbit = gpus[x["gpu"]]
        ranks, seq_len = int(x["gpus"]), int(x["seqlen"])
        rows.append(measured(
            gpt(int(x["n_layers"]), int(x["d_model"]), int(x["n_heads"]), seq_len, 50368),
            cluster(gpu, ranks, gbit),
            layout(dp=ranks, zero=2 if x["sharding"] == "SHARD_GRAD_OP" else 3,
                   mbs=int(x["micro_batch"]), steps=int(x["grad_accum"]),
                   recompute="full" if x["act_ckpt"] == "True" else "none",
                   precision="fp8" if "fp8" in x["precision"] else "bf16"),
            float(x["iter_time_s_derived"]), (gpu, x["model"]),
            gpu=gpu, size=x["model"], seq=seq_len, gpus=ranks, again=x["act_ckpt"],
            precision=x["precision"], mbs=int(x["micro_batch"])))
    return rows


MLPERF = {"B200": "b200-180g-sxm", "B300": "b300-270g-sxm", "GB200": "gb200-186g-nvl72",
          "GB300": "gb300-279g-nvl72"}


def mlperf(folder, name, model):
    """MLPerf Training v5.1, closed division: times of logs; NICs of 400 Gbit/s where not stated."""
    for x in table(folder, name):
        n = {key: int(x[key]) for key in ("nodes", "gpus_per_node", "tp", "pp", "cp", "dp",
                                          "micro_batch", "grad_accum")}
        machine = {"gpu": MLPERF[x["gpu"]], "nodes": n["nodes"],
                   "gpus_per_node": n["gpus_per_node"],
                   "nic_gbit_per_gpu": float(x["nic_gbit_per_gpu"] or 400)}
        yield x, measured(model, machine,
                          layout(n["tp"], n["pp"], n["cp"], n["dp"], 1, n["micro_batch"],
                                 n["grad_accum"], "none", precision="fp8"),
                          float(x["step_time_s"]), x["gpu"], gpu=x["gpu"], recipe=x["recipe"])


def flux(folder):
    model = {"kind": "arch", "name": "mmdit-11b", "resolution": "256px", "num_frames": 1,
             "text_tokens": 256, "encoders": False}
    return [row for _, row in mlperf(folder, "flux1_mlperf_v51_fit.csv", model)]


def llama_8b(folder):
    """Those in FP8; a row cannot say NVFP4, which is about 1.2 times as fast."""
    model = gpt(32, 4096, 32, 8192, 128256, kv_heads=8, ffn_hidden=14336)
    rows = mlperf(folder, "llama_mlperf_v51_fit.csv", model)
    return [row for x, row in rows if x["recipe"] not in ("nvfp4", "")]


def open_sora(folder):
    """hpcaitech/Open-Sora, comments of official configurations. Training steps alone."""
    rows = []
    for x in table(folder, "opensora_bucket_step_times_fit.csv"):
        if x["model"].startswith("STDiT2"):
            name, gpu, recompute = "stdit2-xl/2", "h800-80g-sxm", "full"
        elif x["model"].startswith("Open-Sora 2.0 MMDiT"):
            name, gpu = "mmdit-11b", "h200-141g-sxm"
            recompute = 46 if "8 dual" in x["grad_ckpt"] else "full"  # 8 of 19 dual, 38 single
        else:
            continue
        sp = 4 if "sp4" in x["plugin"] else 1
        rows.append(measured(
            {"kind": "arch", "name": name, "resolution": x["resolution"],
             "num_frames": int(x["frames"]), "encoders": True},
            cluster(gpu, 8, 400),
            layout(sp=sp, dp=8 // sp, zero=2, mbs=int(x["batch_per_gpu"]), recompute=recompute),
            float(x["step_time_s"]), (x["model"], sp),
            arch=name, bucket=f'{x["resolution"]}x{x["frames"]}', sp=sp,
            noisy="noisy" if "noisy" in x["note"] or "i2v" in x["model"] else "plain"))
    return rows
