"""Writes the .pt files beside it: what torch.save makes of weights in the ways people keep them.

Run with an interpreter that has PyTorch 2.11: `python make_torch_files.py`.
"""
import collections
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def save(name, value, **options):
    torch.save(value, os.path.join(HERE, name + ".pt"), **options)


grid = torch.arange(12, dtype=torch.float32).view(3, 4)
weights = {"a.weight": grid[:2, :3].clone(), "a.bias": torch.ones(4, dtype=torch.bfloat16),
           "count": torch.tensor(3), "turned": grid.t(), "part": grid[1:]}
save("plain", weights)
save("parameters", {"w": torch.nn.Parameter(grid.clone())})
save("nested", {"state_dict": weights, "epoch": 3, "lr": 1e-4})
save("two_dicts", {"model": weights, "ema": weights})
save("no_tensor", {"epoch": 3})
save("list", [grid])
save("ordered", collections.OrderedDict(weights))
save("module", torch.nn.Linear(2, 2))
save("before_1_6", weights, _use_new_zipfile_serialization=False)
