"""STDiT3 of Open-Sora v1.2 in PyTorch eager mode, with scaled_dot_product_attention.

The peer of worker/model: the same network, names and numbers, written as one would for speed in
eager PyTorch (cached tables, one attention call for captions that all samples share).
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, 1e-6)


def rotate(x, cos, sin):
    """Interleaved pairs (2i, 2i + 1); x (..., tokens, head_dim)."""
    pairs = x.unflatten(-1, (-1, 2))
    half = torch.stack((-pairs[..., 1], pairs[..., 0]), dim=-1).flatten(-2)
    return x * cos + half * sin


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.q_norm = RMSNorm(dim // heads)
        self.k_norm = RMSNorm(dim // heads)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, rope=None):
        groups, tokens, _ = x.shape
        qkv = self.qkv(x).view(groups, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q, k = self.q_norm(q), self.k_norm(k)
        if rope is not None:
            q, k = rotate(q, *rope), rotate(k, *rope)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(groups, tokens, -1))


class CrossAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.q_linear = nn.Linear(dim, dim)
        self.kv_linear = nn.Linear(dim, dim * 2)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, y):
        batch, tokens, _ = x.shape
        q = self.q_linear(x).view(1, batch * tokens, self.heads, -1).transpose(1, 2)
        kv = self.kv_linear(y).view(1, -1, 2, self.heads, self.head_dim)
        k, v = kv.permute(2, 0, 3, 1, 4).unbind(0)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(batch, tokens, -1))


class Mlp(nn.Module):
    def __init__(self, dim, hidden, out):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, out)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x), approximate="tanh"))


def modulate(x, shift, scale):
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale) + shift


class Block(nn.Module):
    def __init__(self, dim, heads, temporal):
        super().__init__()
        self.temporal = temporal
        self.scale_shift_table = nn.Parameter(torch.empty(6, dim))
        self.attn = Attention(dim, heads)
        self.cross_attn = CrossAttention(dim, heads)
        self.mlp = Mlp(dim, dim * 4, dim)

    def forward(self, x, y, t, frames, rope):
        batch, tokens, dim = x.shape
        shift1, scale1, gate1, shift2, scale2, gate2 = (
            self.scale_shift_table[None] + t.view(batch, 6, -1)).chunk(6, dim=1)
        m = modulate(x, shift1, scale1)
        if self.temporal:
            m = m.view(batch, frames, -1, dim).transpose(1, 2).reshape(-1, frames, dim)
            m = self.attn(m, rope).view(batch, -1, frames, dim).transpose(1, 2)
            m = m.reshape(batch, tokens, dim)
        else:
            m = self.attn(m.view(batch * frames, -1, dim)).view(batch, tokens, dim)
        x = x + gate1 * m
        x = x + self.cross_attn(x, y)
        return x + gate2 * self.mlp(modulate(x, shift2, scale2))


class TimeEmbed(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(256, dim), nn.SiLU(), nn.Linear(dim, dim))
        freqs = torch.exp(-math.log(10000) * torch.arange(128, dtype=torch.float32) / 128)
        self.register_buffer("freqs", freqs, persistent=False)

    def forward(self, t):
        angles = t[:, None].float() * self.freqs[None]
        return self.mlp(torch.cat([angles.cos(), angles.sin()], dim=-1))


class PatchEmbed(nn.Module):
    def __init__(self, patch, channels, dim):
        super().__init__()
        self.proj = nn.Conv3d(channels, dim, kernel_size=patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class CaptionEmbed(nn.Module):
    def __init__(self, channels, dim, tokens):
        super().__init__()
        self.y_proj = Mlp(channels, dim, dim)
        self.register_buffer("y_embedding", torch.empty(tokens, channels))


class Rope(nn.Module):
    def __init__(self, head_dim):
        super().__init__()
        self.freqs = nn.Parameter(torch.empty(head_dim // 2), requires_grad=False)


class FinalLayer(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.scale_shift_table = nn.Parameter(torch.empty(2, dim))
        self.linear = nn.Linear(dim, out)

    def forward(self, x, t):
        shift, scale = (self.scale_shift_table[None] + t[:, None]).chunk(2, dim=1)
        return self.linear(modulate(x, shift, scale))


class STDiT3(nn.Module):
    def __init__(self, channels=3, patch=(1, 4, 4), dim=96, depth=2, heads=4, text_channels=32,
                 text_tokens=8, input_sq_size=64):
        super().__init__()
        self.patch, self.dim, self.channels = patch, dim, channels
        self.input_sq_size = input_sq_size
        self.x_embedder = PatchEmbed(patch, channels, dim)
        self.t_embedder = TimeEmbed(dim)
        self.fps_embedder = TimeEmbed(dim)
        self.t_block = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))
        self.y_embedder = CaptionEmbed(text_channels, dim, text_tokens)
        self.rope = Rope(dim // heads)
        self.spatial_blocks = nn.ModuleList(Block(dim, heads, False) for _ in range(depth))
        self.temporal_blocks = nn.ModuleList(Block(dim, heads, True) for _ in range(depth))
        self.final_layer = FinalLayer(dim, math.prod(patch) * channels)
        self.tables = {}

    def positions(self, rows, columns, scale):
        key = (rows, columns, scale)
        if key not in self.tables:
            half = self.dim // 2
            inv_freq = 1.0 / (10000 ** (torch.arange(0, half, 2).float() / half))
            base = round((rows * columns) ** 0.5)

            def encode(count):
                angles = torch.outer(torch.arange(count) / scale * (base / count), inv_freq)
                return torch.cat([angles.sin(), angles.cos()], dim=-1)

            by_column = encode(columns)[None].expand(rows, -1, -1)
            by_row = encode(rows)[:, None].expand(-1, columns, -1)
            self.tables[key] = torch.cat([by_column, by_row], dim=-1).view(1, 1, rows * columns, -1)
        return self.tables[key]

    def rope_tables(self, frames):
        key = frames
        if key not in self.tables:
            angles = torch.outer(torch.arange(frames).float(), self.rope.freqs)
            angles = angles.repeat_interleave(2, -1)
            self.tables[key] = (angles.cos(), angles.sin())
        return self.tables[key]

    def blocks(self):
        """In the order in which they run: spatial and temporal ones in turn."""
        return [block for pair in zip(self.spatial_blocks, self.temporal_blocks) for block in pair]

    def grid(self, sizes):
        """(frames, rows, columns) in patches of a latent (B, C, T, H, W)."""
        return tuple(size // patch for size, patch in zip(sizes[2:], self.patch))

    def embed(self, x, timestep, fps, height, width):
        """Tokens, and the conditions of the blocks."""
        batch = x.shape[0]
        frames, rows, columns = self.grid(x.shape)
        t = self.t_embedder(timestep) + self.fps_embedder(fps)
        t_mlp = self.t_block(t)
        y = self.y_embedder.y_proj(self.y_embedder.y_embedding)
        scale = (height * width) ** 0.5 / self.input_sq_size
        x = self.x_embedder(x).view(batch, frames, rows * columns, self.dim)
        x = (x + self.positions(rows, columns, scale)).view(batch, -1, self.dim)
        return x, t_mlp, t, y

    def forward(self, x, timestep, fps, height, width):
        grid = self.grid(x.shape)
        x, t_mlp, t, y = self.embed(x, timestep, fps, height, width)
        rope = self.rope_tables(grid[0])
        for block in self.blocks():
            x = block(x, y, t_mlp, grid[0], rope if block.temporal else None)
        return self.output(x, t, grid)

    def output(self, x, t, grid):
        batch, (frames, rows, columns), (pt, ph, pw) = x.shape[0], grid, self.patch
        x = self.final_layer(x, t)
        x = x.view(batch, frames, rows, columns, pt, ph, pw, self.channels)
        return x.permute(0, 7, 1, 4, 2, 5, 3, 6).reshape(
            batch, self.channels, frames * pt, rows * ph, columns * pw)
