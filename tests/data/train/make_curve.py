"""Writes curve.json: losses and gradient norms of 200 training steps of stdit3-tiny in PyTorch.

Run with an interpreter that has PyTorch 2.11 and numpy: `python make_curve.py`. The network is
bench/trainer_vs_pytorch/stdit3_torch.py, trained with torch.optim.AdamW and clip_grad_norm_. Initial
weights, clips, times and noise are drawn with SplitMix64 from the same keys as osora's trainer
(worker/train/sample_rng.hpp), written here a second time, so nothing but numbers is stored.
tests/parity/training_curve_test.cpp trains the same and compares each step.
"""
import json
import math
import os
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "bench", "trainer_vs_pytorch"))
from stdit3_torch import STDiT3  # noqa: E402

STEPS, SAMPLES, MICRO_BATCH = 200, 4, 2
LR, WARMUP, MAX_NORM, SEED, FPS = 2e-3, 20, 1.0, 1024, 24.0
SHAPES = [(4, 32, 32), (8, 16, 24), (1, 48, 32)]  # (T, H, W), in turn
TIMESTEP, NOISE = 1, 2  # RngPurpose
WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def sample_key(seed, epoch, sample, purpose):
    key = mix((seed + GOLDEN) & WORD)
    for word in (epoch, sample, purpose):
        key = mix(((key ^ word) + GOLDEN) & WORD)
    return key


def stream(key, count):
    """The first `count` numbers of SampleRng(key)."""
    z = np.uint64(key) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def normals(key, shape):
    """What sample_noise makes of one key: Box-Muller on pairs of 24-bit uniforms."""
    count = math.prod(shape)
    bits = stream(key, (count + 1) // 2)
    first = ((bits >> np.uint64(40)) + np.uint64(1)).astype(np.float64) * 2.0 ** -24
    second = ((bits >> np.uint64(8)) & np.uint64(0xFFFFFF)).astype(np.float64) * 2.0 ** -24
    radius, angle = np.sqrt(-2 * np.log(first)), 2 * np.pi * second
    values = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
    return torch.from_numpy(values.astype(np.float32)).view(shape)


def uniform(key):
    return float(int(stream(key, 1)[0]) >> 11) * 2.0 ** -53


def initial(name, index, tensor):
    if name == "rope.freqs":
        size = tensor.numel()
        return 10000.0 ** (-torch.arange(0, 2 * size, 2).float() / (2 * size))
    noise = normals(sample_key(7, 0, index, NOISE), tuple(tensor.shape))
    if name.endswith("norm.weight"):
        return 1 + 0.1 * noise
    if tensor.dim() == 1:
        return 0.02 * noise
    return noise * (0.5 / math.sqrt(tensor.numel() / tensor.shape[0]))


def clip(sample, shape):
    """(3, T, H, W) in [-1, 1]: triangle waves that move, a colour and a speed for each sample."""
    c, t, y, x = np.meshgrid(np.arange(3), *map(np.arange, shape), indexing="ij")
    wave = (x * 7 + y * (3 + sample % 5) + t * 11 + c * 53 + sample * 29) % 512
    pixels = np.where(wave < 256, wave, 511 - wave).astype(np.float32)
    return torch.from_numpy(pixels).div(127.5).sub(1.0)


def main():
    torch.set_num_threads(1)
    model = STDiT3()
    state = model.state_dict()
    for index, name in enumerate(sorted(state)):
        state[name] = initial(name, index, state[name])
    model.load_state_dict(state)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=LR, weight_decay=0.0)
    losses, norms = [], []
    for step in range(STEPS):
        shape = SHAPES[step % len(SHAPES)]
        total = 0.0
        for begin in range(0, SAMPLES, MICRO_BATCH):
            ids = [step * SAMPLES + begin + i for i in range(MICRO_BATCH)]
            epoch = step // 50
            x = torch.stack([clip(i, shape) for i in ids])
            noise = torch.stack([normals(sample_key(SEED, epoch, i, NOISE), (3, *shape))
                                 for i in ids])
            t = torch.tensor([1000.0 * uniform(sample_key(SEED, epoch, i, TIMESTEP)) for i in ids])
            tau = (t / 1000.0).view(-1, 1, 1, 1, 1)
            out = model((1 - tau) * x + tau * noise, t, torch.full((MICRO_BATCH,), FPS),
                        float(shape[1]), float(shape[2]))
            loss = (out - (x - noise)).square().mean()
            (loss * MICRO_BATCH / SAMPLES).backward()
            total += loss.item() * MICRO_BATCH / SAMPLES
        norm = torch.nn.utils.clip_grad_norm_(params, MAX_NORM)
        for group in optimizer.param_groups:
            group["lr"] = LR * (step + 1) / (WARMUP + 1) if step < WARMUP else LR
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(round(total, 8))
        norms.append(round(norm.item(), 7))
    with open(os.path.join(HERE, "curve.json"), "w") as file:
        json.dump({"source": "make_curve.py, torch " + torch.__version__.split("+")[0],
                   "loss": losses, "grad_norm": norms}, file)
        file.write("\n")
    print(losses[0], losses[1], losses[2], losses[-3:], max(norms), min(norms))


if __name__ == "__main__":
    main()
