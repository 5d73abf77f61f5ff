"""Writes master_golden.safetensors, grad_scaler.json and lr_schedules.json: what PyTorch computes.

Run with the interpreter that has PyTorch 2.11 and safetensors: `python make_trainer_golden.py`.
- master_golden: AdamW on fp32 masters of bf16 and fp16 parameters, as ColossalAI's LowLevelZeroOptimizer:
  gradients in the type of the model and times `scale`, made fp32, unscaled, clipped to norm 1, AdamW on the
  masters, which are rounded back. Six steps; Open-Sora's eps.
- grad_scaler: torch.amp.GradScaler with its defaults over 9,000 steps of which some overflow: the steps whose
  scale differs from the one before.
- lr_schedules: rates of torch.optim.lr_scheduler behind 10 warm-up steps, 110 steps in all.
"""
import json

import torch
from safetensors.torch import save_file

STEPS = 6
SHAPES = [(7, 5), (13,), (2, 3, 4)]


def masters(dtype, scale, tensors):
    name = str(dtype).removeprefix("torch.")
    generator = torch.Generator().manual_seed(5)
    params = [torch.randn(s, generator=generator).to(dtype) for s in SHAPES]
    for i, p in enumerate(params):
        tensors[f"{name}/in/param.{i}"] = p.clone()
    fp32 = [torch.nn.Parameter(p.float()) for p in params]
    optimizer = torch.optim.AdamW(fp32, lr=1e-2, betas=(0.9, 0.99), eps=1e-15, weight_decay=0.1)
    for step in range(STEPS):
        for i, p in enumerate(params):
            size = 3.0 if step % 2 == 0 else 0.02  # clipped, not clipped
            grad = (torch.randn(p.shape, generator=generator) * size * scale).to(dtype)
            tensors[f"{name}/in/grad.{step}.{i}"] = grad
            fp32[i].grad = grad.float() / scale
        norm = torch.nn.utils.clip_grad_norm_(fp32, 1.0)
        tensors[f"{name}/out/norm.{step}"] = norm.reshape(1)
        optimizer.step()
        for i, (p, master) in enumerate(zip(params, fp32)):
            p.copy_(master.detach())
            tensors[f"{name}/out/param.{step}.{i}"] = p.clone()
            tensors[f"{name}/out/master.{step}.{i}"] = master.detach().clone()


def scaler_changes(overflows, steps):
    scaler = torch.amp.GradScaler("cpu")
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=0.0)
    scaler.scale(parameter.sum())  # sets the scale up
    changes = []
    for step in range(steps):
        before = scaler.get_scale()
        parameter.grad = torch.full((1,), float("inf") if step in overflows else 1.0)
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() != before:
            changes.append([step, scaler.get_scale()])
    return changes


def rates(make, steps, warmup):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=3e-4)
    scheduler = make(optimizer, steps - warmup)
    values = []
    for _ in range(steps - warmup + 5):  # and beyond the end
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return values


torch.set_num_threads(1)
tensors = {}
masters(torch.bfloat16, 1.0, tensors)
masters(torch.float16, 1024.0, tensors)
save_file(tensors, "master_golden.safetensors", {"source": "torch " + torch.__version__})

overflows = [0, 1, 2, 700, 3000, 3001, 5001, 7002]
with open("grad_scaler.json", "w") as out:
    json.dump({"source": "torch.amp.GradScaler " + torch.__version__, "steps": 9000,
               "overflows": overflows, "changes": scaler_changes(set(overflows), 9000)}, out)

schedules = torch.optim.lr_scheduler
with open("lr_schedules.json", "w") as out:
    json.dump({
        "source": "torch.optim.lr_scheduler " + torch.__version__, "lr": 3e-4, "lr_min": 1e-5,
        "warmup_steps": 10, "steps": 110,
        "cosine": rates(lambda o, n: schedules.CosineAnnealingLR(o, T_max=n, eta_min=1e-5), 110, 10)[:101],
        "linear": rates(lambda o, n: schedules.LinearLR(o, 1.0, 1e-5 / 3e-4, total_iters=n), 110, 10),
    }, out)
