"""Writes adamw_golden.safetensors: what torch.optim.AdamW, clip_grad_norm_ and an EMA compute.

Run with the interpreter that has PyTorch 2.11: `python make_adamw_golden.py`. Three parameters, five
steps; gradients are given, clipped to max_norm, the learning rate follows Open-Sora's LinearWarmupLR.
"""
import json
import struct

import torch

STEPS, WARMUP, LR, MAX_NORM, DECAY = 5, 3, 1e-2, 1.0, 0.9
torch.manual_seed(11)
shapes = [(7, 5), (13,), (2, 3, 4)]
params = [torch.nn.Parameter(torch.randn(s)) for s in shapes]
tensors = {f"in/param.{i}": p.detach().clone() for i, p in enumerate(params)}
ema = [p.detach().clone() for p in params]
optimizer = torch.optim.AdamW(params, lr=LR, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)
for step in range(STEPS):
    for i, p in enumerate(params):
        p.grad = torch.randn_like(p) * (3.0 if step % 2 == 0 else 0.05)  # clipped, not clipped
        tensors[f"in/grad.{step}.{i}"] = p.grad.clone()
    norm = torch.nn.utils.clip_grad_norm_(params, MAX_NORM)
    lr = LR * (step + 1) / (WARMUP + 1) if step < WARMUP else LR
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    for e, p in zip(ema, params):
        e.mul_(DECAY).add_(p.detach(), alpha=1 - DECAY)
    tensors[f"out/norm.{step}"] = norm.reshape(1)
    tensors[f"out/lr.{step}"] = torch.tensor([lr])
    for i, p in enumerate(params):
        tensors[f"out/param.{step}.{i}"] = p.detach().clone()
        tensors[f"out/ema.{step}.{i}"] = ema[i].clone()

header = {"__metadata__": {"source": "torch.optim.AdamW " + torch.__version__,
                           "note": "make_adamw_golden.py: betas 0.9 0.99, eps 1e-8, weight decay 0.1, "
                                   "lr 1e-2, warm-up 3, max_norm 1, EMA 0.9"}}
data = b""
for name, tensor in tensors.items():
    values = tensor.flatten().tolist()
    raw = struct.pack(f"<{len(values)}f", *values)
    header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                    "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
text += b" " * (-(8 + len(text)) % 64)
with open("adamw_golden.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + data)
