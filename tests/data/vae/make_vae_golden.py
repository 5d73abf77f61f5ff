"""Writes spatial, temporal, pipeline and loss .safetensors: what Open-Sora v1.2's VAE computes.

`python make_vae_golden.py OPEN_SORA` with a checkout of github.com/hpcaitech/Open-Sora at v1.2.0,
PyTorch 2.13, diffusers 0.29.2, transformers 4.44, einops, safetensors. Sizes differ from those of
tests/data/parity; every parameter is random and non-zero; the noise of each sample is stored.
Computed in fp64 from values that fp32 holds, stored in fp32: what is stored has no rounding of its
own but the last.
"""
import importlib.util
import json
import sys
import types
from pathlib import Path

import torch
from diffusers.models import AutoencoderKL
from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution as Gaussian2d
from safetensors.torch import save_file

ROOT, OUT = Path(sys.argv[1]), Path(__file__).parent
SPATIAL = dict(in_channels=3, out_channels=3, down_block_types=["DownEncoderBlock2D"] * 3,
               up_block_types=["UpDecoderBlock2D"] * 3, block_out_channels=[4, 8, 8],
               layers_per_block=2, latent_channels=3, norm_num_groups=2)
TEMPORAL = dict(in_out_channels=3, latent_embed_dim=2, embed_dim=5, filters=4, num_res_blocks=2,
                channel_multipliers=[1, 2, 3], temporal_downsample=[True, False], num_groups=2)
drawn = []


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float32).double()


def open_sora():
    """opensora.models.vae of the checkout, without the packages that its trainer needs."""
    class Registry:
        def register_module(self, name=None):
            return lambda thing: thing

    def module(name, **names):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(names)

    for name in ("opensora", "opensora.models", "opensora.models.vae", "opensora.utils"):
        module(name)
        sys.modules[name].__path__ = []
    module("opensora.registry", MODELS=Registry(), build_module=lambda built, registry: built)
    module("opensora.utils.ckpt_utils", load_checkpoint=None)
    module("requests")
    module("tqdm", tqdm=None)
    module("torchvision", models=types.SimpleNamespace(vgg16=tiny_vgg))
    loaded = []
    for file in ("utils", "vae_temporal", "vae", "lpips", "losses"):
        name = f"opensora.models.vae.{file}"
        spec = importlib.util.spec_from_file_location(name, ROOT / f"opensora/models/vae/{file}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
        loaded.append(sys.modules[name])
    return loaded


def tiny_vgg(pretrained):
    """VGG16's layers with 3, 4, 5, 6 and 7 channels instead of 64 ... 512."""
    layers, channels = [], 3
    for stage, (width, convs) in enumerate(zip((3, 4, 5, 6, 7), (2, 2, 3, 3, 3))):
        layers += [torch.nn.MaxPool2d(2, 2)] if stage else []
        for _ in range(convs):
            layers += [torch.nn.Conv2d(channels, width, 3, padding=1), torch.nn.ReLU(inplace=True)]
            channels = width
    return types.SimpleNamespace(features=torch.nn.Sequential(*layers, torch.nn.MaxPool2d(2, 2)))


def randomise(model):
    for name, value in model.named_parameters():
        if value.dim() > 1:
            value.data.copy_(randn(value.shape) * value[0].numel() ** -0.5)
        else:
            mean = 1 if "norm" in name and name.endswith("weight") else 0
            value.data.copy_(randn(value.shape) * 0.2 + mean)
        value.data.copy_(value.data.float())
    return model


def sample(self, generator=None):
    drawn.append(randn(self.mean.shape))
    return self.mean + self.std * drawn[-1]


def write(name, component, config, model, tensors, x, decoded):
    """Adds the loss, its gradients and the weights."""
    if decoded is not None:
        tensors["in/loss_weight"] = randn(decoded.shape)
        loss = (decoded * tensors["in/loss_weight"]).sum()
        loss.backward()
        tensors["out/loss"] = loss.reshape(1)
        tensors["grad_in/x"] = x.grad
        tensors |= {f"grad/{k}": v.grad for k, v in model.named_parameters()}
    tensors |= {f"weights/{k}": v for k, v in model.state_dict().items()}
    source = "github.com/hpcaitech/Open-Sora tag v1.2.0 opensora/models/vae, diffusers 0.29.2"
    save_file({k: v.detach().float().contiguous().clone() for k, v in tensors.items()},
              OUT / f"{name}.safetensors",
              {"component": component, "config": json.dumps(config), "source": source})


def spatial_case():
    model = randomise(AutoencoderKL(**SPATIAL, sample_size=16))
    x = randn(2, 3, 16, 24).requires_grad_()
    dist = model.encode(x).latent_dist
    z = dist.sample()
    decoded = model.decode(z).sample
    tensors = {"in/x": x, "in/eps": drawn[-1], "out/moments": dist.parameters, "out/mean": dist.mean,
               "out/logvar": dist.logvar, "out/z": z, "out/kl": dist.kl(), "out/decoded": decoded}
    model.enable_tiling()  # tiles of 16 pixels, 4 latents
    with torch.no_grad():
        big = randn(1, 3, 24, 40)
        dist = model.encode(big).latent_dist
        tensors |= {"in/tiled/x": big, "out/tiled/moments": dist.parameters,
                    "out/tiled/decoded": model.decode(dist.mean).sample}
    write("spatial", "vae_spatial", SPATIAL, model, tensors, x, decoded)


def temporal_case(VAE_Temporal):
    sizes = {k: tuple(v) if isinstance(v, list) else v for k, v in TEMPORAL.items()}
    model = randomise(VAE_Temporal(**sizes))
    x = randn(2, 3, 5, 3, 4).requires_grad_()
    dist = model.encode(x)
    z = dist.sample()
    decoded = model.decode(z, num_frames=5)
    tensors = {"in/x": x, "in/eps": drawn[-1], "out/moments": dist.parameters, "out/mean": dist.mean,
               "out/logvar": dist.logvar, "out/z": z, "out/kl": dist.kl(), "out/decoded": decoded}
    write("temporal", "vae_temporal", TEMPORAL, model, tensors, x, decoded)


def pipeline_case(vae, VAE_Temporal):
    """8 frames of two clips: the 2-D VAE takes 3 at a time, the temporal VAE 5 + 3."""
    spatial = SPATIAL | dict(block_out_channels=[4, 8], layers_per_block=1,
                             down_block_types=["DownEncoderBlock2D"] * 2,
                             up_block_types=["UpDecoderBlock2D"] * 2)
    temporal = TEMPORAL | dict(embed_dim=3, latent_embed_dim=3, num_res_blocks=1)
    AutoencoderKL.from_pretrained = classmethod(lambda cls, *a, **k: AutoencoderKL(**spatial))
    config = vae.VideoAutoencoderPipelineConfig(
        vae_2d=vae.VideoAutoencoderKL(micro_batch_size=3),
        vae_temporal=VAE_Temporal(**{k: tuple(v) if isinstance(v, list) else v
                                     for k, v in temporal.items()}),
        micro_frame_size=5, shift=(-0.1, 0.3, 0.2), scale=(3.8, 2.3, 0.7))
    model = randomise(vae.VideoAutoencoderPipeline(config))
    del drawn[:]
    x = randn(2, 3, 8, 4, 6).requires_grad_()
    z = model.encode(x)
    decoded = model.decode(z, num_frames=8)
    assert len(drawn) == 6 + 2  # chunks of the 2-D VAE, then of the temporal one
    tensors = {"in/x": x, "in/eps2d": torch.cat(drawn[:6]), "in/eps_temporal0": drawn[6],
               "in/eps_temporal1": drawn[7], "out/z": z, "out/decoded": decoded}
    write("pipeline", "vae_pipeline",
          dict(spatial=spatial, temporal=temporal, micro_batch_size=3, micro_frame_size=5,
               z_scale_2d=0.18215), model, tensors, x, decoded)


def loss_case(losses, lpips, Gaussian):
    """VAELoss with LPIPS over a VGG16 of 3 to 7 channels; the linear layers are positive."""
    lpips.LPIPS.load_from_pretrained = lambda self: None
    init = lpips.NetLinLayer.__init__
    widths = iter((3, 4, 5, 6, 7))
    lpips.NetLinLayer.__init__ = lambda self, width, use_dropout: init(
        self, next(widths), use_dropout=use_dropout)
    model = losses.VAELoss(perceptual_loss_weight=0.3, kl_loss_weight=0.02, logvar_init=0.4)
    metric = randomise(model.perceptual_loss_fn.double())
    for name, value in metric.named_parameters():
        if name.startswith("lin"):
            value.data.abs_()
    video = torch.rand(2, 3, 2, 32, 32, dtype=torch.float32).double() * 2 - 1
    recon = torch.rand(2, 3, 2, 32, 32, dtype=torch.float32).double() * 2 - 1
    moments = randn(2, 8, 2, 4, 4)
    recon.requires_grad_(True)
    moments.requires_grad_(True)
    nll, weighted, kl = model(video, recon, Gaussian(moments))
    plain = model(video, recon, Gaussian(moments), no_perceptual=True)[0]
    (nll + kl).backward()
    frames = [v.detach().transpose(1, 2).flatten(0, 1) for v in (video, recon)]
    tensors = {"in/video": video, "in/recon": recon, "in/moments": moments,
               "out/lpips": metric(*frames), "out/nll": nll.reshape(1), "out/kl": kl.reshape(1),
               "out/nll_without_lpips": plain.reshape(1), "grad_in/recon": recon.grad,
               "grad_in/moments": moments.grad}
    write("loss", "vae_loss", dict(perceptual_loss_weight=0.3, kl_loss_weight=0.02, logvar=0.4),
          metric, tensors, None, None)


torch.manual_seed(17)
torch.set_default_dtype(torch.float64)
utils, vae_temporal, vae, lpips, losses = open_sora()
Gaussian2d.sample = utils.DiagonalGaussianDistribution.sample = sample
spatial_case()
temporal_case(vae_temporal.VAE_Temporal)
pipeline_case(vae, vae_temporal.VAE_Temporal)
loss_case(losses, lpips, utils.DiagonalGaussianDistribution)
