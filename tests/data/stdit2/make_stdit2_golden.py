"""Writes stdit2.safetensors and ../models/stdit2_xl2.tsv: what Open-Sora v1.1's STDiT2 computes and is.

`python make_stdit2_golden.py OPEN_SORA` with a checkout of github.com/hpcaitech/Open-Sora at v1.1.0,
PyTorch 2.11, einops, rotary-embedding-torch 0.5.3, safetensors. timm's Mlp and xformers' attention
of samples one after the other are replaced by their formulas, what else its trainer needs by
nothing. Every parameter is random and non-zero, but rope.freqs. On a CPU in fp32. Names as in
tests/data/parity/README.md; the variants share the weights.
"""
import functools
import importlib.util
import json
import sys
import types
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

ROOT, OUT = Path(sys.argv[1]), Path(__file__).parent
CONFIG = dict(input_sq_size=64, in_channels=4, patch_size=[1, 2, 2], hidden_size=24, depth=2,
              num_heads=2, mlp_ratio=2.0, caption_channels=10, model_max_length=7, qk_norm=True)


class Mlp(nn.Module):
    def __init__(self, in_features, hidden_features, out_features=None, act_layer=None, drop=0):
        super().__init__()
        self.fc1 = nn.Linear(in_features, hidden_features)
        self.act = act_layer()
        self.fc2 = nn.Linear(hidden_features, out_features or in_features)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Blocks:
    """xformers' BlockDiagonalMask: which rows of q and k belong together."""
    def __init__(self, queries, keys):
        self.queries, self.keys = queries, keys

    @classmethod
    def from_seqlens(cls, queries, keys):
        return cls(queries, keys)


def attention(q, k, v, p, attn_bias):
    parts = []
    for one_q, one_k, one_v in zip(q[0].split(attn_bias.queries), k[0].split(attn_bias.keys),
                                   v[0].split(attn_bias.keys)):
        scores = torch.einsum("nhd,mhd->hnm", one_q, one_k) * one_q.shape[-1] ** -0.5
        parts.append(torch.einsum("hnm,mhd->nhd", scores.softmax(-1), one_v))
    return torch.cat(parts)[None]


class PretrainedConfig:
    def __init__(self, **kwargs):
        pass


class PreTrainedModel(nn.Module):
    def __init__(self, config):
        super().__init__()


class Registry:
    def register_module(self, name=None):
        return lambda thing: thing


def open_sora():
    """opensora.models.stdit.stdit2 of the checkout."""
    def module(name, **names):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
        sys.modules[name].__dict__.update(names)

    for name in ("opensora", "opensora.models", "opensora.models.layers", "opensora.models.stdit",
                 "opensora.acceleration", "opensora.utils", "timm", "timm.models"):
        module(name)
    module("xformers.ops.fmha", BlockDiagonalMask=Blocks)
    module("xformers.ops", memory_efficient_attention=attention, fmha=sys.modules["xformers.ops.fmha"])
    module("xformers", ops=sys.modules["xformers.ops"])
    module("timm.models.vision_transformer", Mlp=Mlp)
    module("timm.models.layers", DropPath=None)
    module("transformers", PretrainedConfig=PretrainedConfig, PreTrainedModel=PreTrainedModel)
    module("opensora.registry", MODELS=Registry())
    module("opensora.utils.ckpt_utils", load_checkpoint=None)
    module("opensora.acceleration.checkpoint", auto_grad_checkpoint=lambda f, *args: f(*args))
    module("opensora.acceleration.communications", all_to_all=None,
           split_forward_gather_backward=None)
    module("opensora.acceleration.parallel_states", get_sequence_parallel_group=None)
    for file in ("layers/blocks", "stdit/stdit2"):
        name = "opensora.models." + file.replace("/", ".")
        spec = importlib.util.spec_from_file_location(name, ROOT / f"opensora/models/{file}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules["opensora.models.stdit.stdit2"]


def write_manifest(source):
    torch.linspace = functools.partial(torch.linspace, device="cpu")  # its numbers are read
    with torch.device("meta"):
        model = source.STDiT2(source.STDiT2Config(input_sq_size=512, model_max_length=200,
                                                  qk_norm=True))
    parameters = dict(model.named_parameters())
    count = sum(p.numel() for p in parameters.values())
    lines = [f"# {len(parameters)} tensors, {count} parameters (buffers excluded)"]
    for name, tensor in model.state_dict().items():
        kind = "param" if name in parameters else "buffer"
        lines.append(f"{name}\t{'x'.join(map(str, tensor.shape))}\t{kind}")
    (OUT.parent / "models" / "stdit2_xl2.tsv").write_text("\n".join(lines) + "\n")


def inputs(batch, frames, height, width, tokens, pixels, **more):
    high, wide = torch.tensor(pixels, dtype=torch.float32).T
    return dict(x=torch.randn(batch, CONFIG["in_channels"], frames, height, width),
                timestep=torch.rand(batch) * 1000, y=torch.randn(batch, 1, tokens, 10),
                height=high, width=wide, ar=wide / high,
                num_frames=torch.full((batch,), 3.0 * frames), fps=torch.rand(batch) * 60, **more)


def lengths(counts, tokens):
    return (torch.arange(tokens) < torch.tensor(counts)[:, None]).long()


def main():
    torch.manual_seed(20261123)
    source = open_sora()
    write_manifest(source)
    model = source.STDiT2(source.STDiT2Config(**CONFIG)).eval()
    for name, tensor in model.state_dict().items():
        if name == "rope.freqs":
            continue
        around = 1.0 if name.endswith("norm.weight") else 0.0
        fan_in = tensor[0].numel() if tensor.dim() > 1 and "table" not in name else 10
        tensor.copy_(around + 0.5 * torch.randn(tensor.shape) / fan_in ** 0.5
                     if around else torch.randn(tensor.shape) / fan_in ** 0.5)
    cases = {
        "plain": inputs(2, 3, 4, 6, 7, [[40, 64], [48, 50]]),
        "given": inputs(2, 4, 5, 3, 5, [[72, 40], [72, 40]], mask=lengths([2, 5], 5),
                        x_mask=torch.tensor([[False, True, True, False], [True] * 4])),
        "lengths": inputs(3, 2, 4, 4, 7, [[64, 64]] * 3, mask=lengths([7, 1, 4], 7)),
        "image": inputs(2, 1, 6, 2, 7, [[96, 30], [96, 30]])}
    saved = {f"weights/{name}": tensor for name, tensor in model.state_dict().items()}
    for variant, given in cases.items():
        model.zero_grad()
        leaves = {name: given[name].requires_grad_() for name in ("x", "y")}
        out = model(**given)
        weight = torch.randn(out.shape)
        loss = (out * weight).sum()
        loss.backward()
        saved[f"out/{variant}/out"] = out
        saved[f"out/{variant}/loss"] = loss.reshape(1)
        saved[f"in/{variant}/loss_weight"] = weight
        for name, leaf in leaves.items():
            saved[f"grad_in/{variant}/{name}"] = leaf.grad
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                saved[f"grad/{variant}/{name}"] = parameter.grad.clone()
        for name, tensor in given.items():
            saved[f"in/{variant}/{name}"] = tensor
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in saved.items()},
              OUT / "stdit2.safetensors",
              metadata={"component": "stdit2", "config": json.dumps(CONFIG),
                        "source": "Open-Sora v1.1.0, opensora/models/stdit/stdit2.py"})


if __name__ == "__main__":
    main()
