"""STDiT3 over several ranks as PyTorch offers it: DTensor's tensor parallelism, and the schedules
of torch.distributed.pipelining."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                               parallelize_module)

PLAN = {"attn.qkv": ColwiseParallel(), "attn.proj": RowwiseParallel(),
        "cross_attn.q_linear": ColwiseParallel(), "cross_attn.kv_linear": ColwiseParallel(),
        "cross_attn.proj": RowwiseParallel(),
        "mlp.fc1": ColwiseParallel(), "mlp.fc2": RowwiseParallel()}


def by_rank(linear, parts, ranks):
    """Rows of a fused linear (q, k, v) so that a range of them has a rank's heads of each part."""
    with torch.no_grad():
        for tensor in (linear.weight, linear.bias):
            rows = tensor.view(parts, ranks, -1, *tensor.shape[1:])
            tensor.copy_(rows.transpose(0, 1).reshape(tensor.shape).clone())


def share_layers(model, world):
    """Tensor parallel: attention by heads, MLPs by their hidden values. Returns the parameters
    that are on every rank but see only its heads: their gradients are parts of a sum."""
    mesh = dist.device_mesh.init_device_mesh("cpu", (world,))
    for block in model.blocks():
        by_rank(block.attn.qkv, 3, world)
        by_rank(block.cross_attn.kv_linear, 2, world)
        parallelize_module(block, mesh, PLAN)
        block.attn.heads //= world
        block.cross_attn.heads //= world
    return [norm.weight for block in model.blocks()
            for norm in (block.attn.q_norm, block.attn.k_norm)]


class Stage(nn.Module):
    """A range of the blocks; the first has the embedders, the last the final layer."""

    def __init__(self, model, rank, world, shape):
        super().__init__()
        blocks = model.blocks()
        each = len(blocks) // world
        self.blocks = nn.ModuleList(blocks[rank * each:(rank + 1) * each])
        self.first, self.last, self.shape = rank == 0, rank + 1 == world, shape
        self.tables = model.rope_tables(model.grid(shape)[0])
        # Not registered: embedders and the final layer that this stage has are, one by one.
        object.__setattr__(self, "whole", model)
        if self.first:
            self.embedders = nn.ModuleList([model.x_embedder, model.t_embedder, model.fps_embedder,
                                            model.t_block, model.y_embedder])
        if self.last:
            self.final_layer = model.final_layer

    def one_sample(self):
        """Inputs and outputs of a pass over one sample, as empty tensors."""
        model, dim = self.whole, self.whole.dim
        sample = torch.empty(1, *self.shape[1:])
        tokens = torch.Size(model.grid(self.shape)).numel()
        between = (torch.empty(1, tokens, dim), torch.empty(1, 6 * dim), torch.empty(1, dim),
                   torch.empty(model.y_embedder.y_embedding.shape[0], dim))
        return ((sample, torch.empty(1)) if self.first else between,
                sample if self.last else between)

    def forward(self, x, t_mlp, t=None, y=None):
        grid = self.whole.grid(self.shape)
        if self.first:
            height, width = map(float, self.shape[-2:])
            x, t_mlp, t, y = self.whole.embed(x, t_mlp, torch.full((1,), 24.0), height, width)
        for block in self.blocks:
            x = block(x, y, t_mlp, grid[0], self.tables if block.temporal else None)
        if self.last:
            return self.whole.output(x, t, grid).contiguous()
        return x.contiguous(), t_mlp, t, y


class Pipeline:
    """1F1B over all ranks, with micro-batches of one sample."""

    def __init__(self, model, rank, world):
        self.model, self.rank, self.world = model, rank, world
        self.stages = {}

    def stage(self, shape):
        if shape not in self.stages:
            module = Stage(self.model, self.rank, self.world, shape)
            # Named here, as PyTorch would find them out by a pass that needs numpy.
            takes, gives = module.one_sample()
            stage = PipelineStage(module, self.rank, self.world, torch.device("cpu"),
                                  input_args=takes, output_args=gives)
            self.stages[shape] = module, Schedule1F1B(stage, shape[0],
                                                      loss_fn=nn.functional.mse_loss)
        return self.stages[shape]

    def parameters(self):
        """Of this rank's stage, whatever the shape of the samples."""
        return Stage(self.model, self.rank, self.world, (1, self.model.channels, 1, 16, 16)
                     ).parameters()

    def backward(self, x_t, t, target):
        """The mean loss on the last rank, 0 on the others."""
        _, schedule = self.stage(tuple(x_t.shape))
        losses = []
        if self.rank == 0:
            schedule.step(x_t, t)
        elif self.rank + 1 == self.world:
            schedule.step(target=target, losses=losses)
        else:
            schedule.step()
        return torch.stack(losses).mean().detach() if losses else torch.zeros(())


def is_sharded(parameter):
    """Biases of row linears are DTensors, too, but the same on every rank."""
    return isinstance(parameter, DTensor) and parameter.placements[0].is_shard()


def local(tensor):
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def sum_parts(parameters):
    """Of gradients of which each rank has a part: one all_reduce."""
    flat = torch.cat([p.grad for p in parameters])
    dist.all_reduce(flat)
    for p, part in zip(parameters, flat.split([p.numel() for p in parameters])):
        p.grad.copy_(part)


def clip_shared(parameters, is_own, max_norm):
    """Clips gradients of which those with `is_own` are parts of all ranks' and the others the
    same on each; returns the norm. One all_reduce."""
    own = [local(p.grad) for p in parameters if is_own(p)]
    common = [local(p.grad) for p in parameters if not is_own(p)]
    squares = torch.stack(torch._foreach_norm(own)).square().sum() if own else torch.zeros(())
    dist.all_reduce(squares)
    if common:
        squares = squares + torch.stack(torch._foreach_norm(common)).square().sum()
    norm = squares.sqrt()
    scale = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    torch._foreach_mul_(own + common, scale)
    return norm
