"""Writes the .pt files beside it: what torch.save makes of weights in the ways people keep them.

Run with an interpreter that has PyTorch 2.11: `python make_torch_files.py`.
"""
import argparse
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

ordered = collections.OrderedDict(weights)
module = torch.nn.Linear(3, 2)
optimizer = torch.optim.AdamW(module.parameters())
module(grid[:, :3]).sum().backward()
optimizer.step()
save("lightning", {"epoch": 3, "pytorch-lightning_version": "2.5.0", "loops": {"fit_loop": {}},
                   "state_dict": collections.OrderedDict(("model." + k, v) for k, v in weights.items()),
                   "optimizer_states": [optimizer.state_dict()], "lr_schedulers": []})
save("training", {"model": ordered, "optimizer": optimizer.state_dict(), "args": argparse.Namespace(lr=1e-4),
                  "torch_rng_state": torch.get_rng_state(), "best": None})
save("with_step", {**weights, "step": 1000})
save("protocol_4", ordered, pickle_protocol=4)
save("eight_bits", {"w": grid.to(torch.float8_e4m3fn), "v": grid.to(torch.float8_e5m2)})
save("buffer", {"w": torch.nn.Buffer(grid.clone())})
save("before_1_6_ordered", {"module": ordered, "epoch": 3}, _use_new_zipfile_serialization=False)
