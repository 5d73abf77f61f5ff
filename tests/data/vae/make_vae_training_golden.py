"""Writes vqvae.safetensors and discriminator.safetensors: what VideoGPT's VQ-VAE and Open-Sora's
discriminator compute in training at a tiny size, and their gradients, in fp64.

`python make_vae_training_golden.py VIDEOGPT OPENSORA` with checkouts of
github.com/wilson1yan/VideoGPT (733d2b1) and github.com/hpcaitech/Open-Sora (v1.2.0), PyTorch 2.11,
safetensors. The codebook's random permutation is replaced by the identity.
"""
import argparse
import sys
import types
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

HERE = Path(__file__).parent
videogpt, opensora = (Path(each) for each in sys.argv[1:3])


def module(name, path, **known):
    made = types.ModuleType(name)
    made.__dict__.update(known, __package__=name.rpartition(".")[0])
    sys.modules[name] = made
    text = path.read_text()
    text = text[text.index("# Shifts src_tf"):] if name.endswith("utils") else text
    text = text.split("import skvideo")[0]
    exec(compile(text, str(path), "exec"), made.__dict__)
    return made


def save(name, tensors, source):
    save_file({k: v if v.dtype == torch.int64 else v.detach().to(torch.float32).contiguous()
               for k, v in tensors.items()}, HERE / name, {"source": source})


def rounded(*shape):
    return torch.randn(*shape).to(torch.float32).to(torch.float64)


def rounded_weights(network):
    with torch.no_grad():
        for each in network.state_dict().values():
            if each.is_floating_point():
                each.copy_(each.to(torch.float32))


def make_vqvae():
    sys.modules["pytorch_lightning"] = types.SimpleNamespace(
        LightningModule=type("L", (torch.nn.Module,), {"save_hyperparameters": lambda self: None}))
    sys.modules["videogpt"] = types.ModuleType("videogpt")
    module("videogpt.utils", videogpt / "videogpt/utils.py")
    module("videogpt.attention", videogpt / "videogpt/attention.py")
    vqvae = module("videogpt.vqvae", videogpt / "videogpt/vqvae.py")
    torch.Tensor.float = lambda self: self.to(torch.float64)
    torch.randperm = torch.arange
    args = argparse.Namespace(n_codes=12, embedding_dim=6, n_hiddens=8, n_res_layers=1,
                              downsample=(2, 4, 4))
    network = vqvae.VQVAE(args).train()
    with torch.no_grad():  # norms that are not the identity
        for name, each in network.named_parameters():
            if each.dim() == 1:
                each.add_(0.1 * torch.randn_like(each))
    rounded_weights(network)
    x = (0.3 * rounded(2, 3, 4, 16, 12)).to(torch.float32).to(torch.float64)
    tensors = {f"weights/{k}": v.clone() for k, v in network.state_dict().items()
               if not k.startswith("codebook")}
    recon_loss, x_rec, codes = network(x)
    (recon_loss + codes["commitment_loss"]).backward()
    tensors |= {"in/x": x, "out/x_rec": x_rec, "out/codes": codes["encodings"],
                "out/loss": (recon_loss + codes["commitment_loss"]).reshape(1)}
    tensors |= {f"grad/{k}": v.grad for k, v in network.named_parameters()}
    tensors |= {f"after/{k}": v.clone() for k, v in network.state_dict().items()
                if k.startswith("codebook") or "running" in k}
    save("vqvae.safetensors", tensors, "github.com/wilson1yan/VideoGPT videogpt/vqvae.py")


def make_discriminator():
    known = types.SimpleNamespace(register_module=lambda *_: lambda each: each)
    sys.modules["opensora"] = types.ModuleType("opensora")
    sys.modules["opensora.registry"] = types.SimpleNamespace(MODELS=known)
    sys.modules["opensora.utils"] = types.ModuleType("opensora.utils")
    sys.modules["opensora.utils.ckpt_utils"] = types.SimpleNamespace(
        find_model=None, load_checkpoint=None)
    made = module("opensora.discriminator", opensora / "opensora/models/vae/discriminator.py")
    network = made.NLayerDiscriminator3D(input_nc=3, ndf=2, n_layers=2)
    network = network.apply(made.n_layer_disc_weights_init).double().train()
    rounded_weights(network)
    real, fake = rounded(2, 3, 8, 12, 16), rounded(2, 3, 8, 12, 16)
    tensors = {f"weights/{k}": v.clone() for k, v in network.state_dict().items()
               if "running" not in k and "tracked" not in k}
    on_real, on_fake = network(real), network(fake)
    loss = 0.5 * (F.relu(1 - on_real).mean() + F.relu(1 + on_fake).mean())
    loss.backward()
    tensors |= {"in/real": real, "in/fake": fake, "out/real": on_real, "out/loss": loss.reshape(1)}
    tensors |= {f"grad/{k}": v.grad for k, v in network.named_parameters()}
    save("discriminator.safetensors", tensors,
         "github.com/hpcaitech/Open-Sora v1.2.0 opensora/models/vae/discriminator.py")


torch.manual_seed(31)
torch.set_default_dtype(torch.float64)
make_vqvae()
make_discriminator()
