"""Writes codebook.safetensors: what VideoGPT's Codebook computes in five training steps, in fp64.

`python make_codebook_golden.py VIDEOGPT` with a checkout of github.com/wilson1yan/VideoGPT (733d2b1),
PyTorch 2.13, safetensors. Its random permutation is replaced by the identity: codes start as the
first vectors of step 0, dead ones again as the first vectors of their step.
"""
import sys
import types
from pathlib import Path

import torch
from safetensors.torch import save_file

N_CODES, DIM, STEPS = 6, 3, 5
source = (Path(sys.argv[1]) / "videogpt/vqvae.py").read_text()
sys.modules["pytorch_lightning"] = types.SimpleNamespace(LightningModule=torch.nn.Module)
package = {"__name__": "videogpt.vqvae", "__package__": "videogpt"}
sys.modules["videogpt"] = types.ModuleType("videogpt")
sys.modules["videogpt.attention"] = types.SimpleNamespace(MultiHeadAttention=None)
sys.modules["videogpt.utils"] = types.SimpleNamespace(
    shift_dim=lambda x, src, dst: x.movedim(src, dst).contiguous())
exec(compile(source, "vqvae.py", "exec"), package)

torch.manual_seed(23)
torch.set_default_dtype(torch.float64)
torch.Tensor.float = lambda self: self.to(torch.float64)
torch.randperm = torch.arange
book = package["Codebook"](N_CODES, DIM).train()
tensors = {}
for step in range(STEPS):
    # Clusters of which some go quiet, so that their codes die.
    centre = torch.randn(1 if step else 4, DIM)
    z = centre[torch.arange(24) % len(centre)] + 0.2 * torch.randn(24, DIM)
    z = z.to(torch.float32).to(torch.float64).view(2, 2, 2, 3, DIM).movedim(-1, 1).contiguous()
    out = book(z)
    tensors |= {f"in/{step}/z": z, f"out/{step}/codes": out["encodings"],
                f"out/{step}/embeddings": out["embeddings"],
                f"out/{step}/commitment_loss": out["commitment_loss"].reshape(1),
                f"out/{step}/perplexity": out["perplexity"].reshape(1)}
    tensors |= {f"out/{step}/book/{k}": v.clone() for k, v in book.state_dict().items()}
save_file({k: v if v.dtype == torch.int64 else v.to(torch.float32).contiguous()
           for k, v in tensors.items()}, Path(__file__).parent / "codebook.safetensors",
          {"component": "codebook", "source": "github.com/wilson1yan/VideoGPT videogpt/vqvae.py"})
