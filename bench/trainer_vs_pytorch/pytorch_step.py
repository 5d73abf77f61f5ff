"""PyTorch's side of the comparison: the protocol of trainer_step.cpp, with eager PyTorch.

Settings are the fastest reasonable ones: fused AdamW, foreach clipping and EMA, gradients set to
None, and for several ranks DistributedDataParallel over Gloo with gradient_as_bucket_view, or
fully_shard (FSDP2) of each block, DTensor's tensor parallelism ("tp") or the 1F1B schedule of
torch.distributed.pipelining ("pp").
"""
import argparse
import json
import os
import struct
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import torch  # noqa: E402

from stdit3_torch import STDiT3  # noqa: E402

LR, DECAY, MAX_NORM = 1e-3, 0.99, 1.0


def network(name):
    """As setup_of of trainer_step.cpp."""
    if name == "tiny":
        return STDiT3()
    width, pairs = map(int, name.split("x"))
    return STDiT3(channels=4, patch=(1, 2, 2), dim=width, depth=pairs, heads=width // 72,
                  text_channels=4096, text_tokens=300, input_sq_size=512)


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def load_safetensors(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    start = 8 + length
    tensors = {}
    for name, info in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = info["data_offsets"]
            raw = bytearray(data[start + begin:start + end])
            tensors[name] = torch.frombuffer(raw, dtype=torch.float32).view(info["shape"])
    return tensors


class Trainer:
    def __init__(self, name, path, args):
        self.tensors = load_safetensors(path)
        self.model = network(name)
        prefix = "weights/"
        self.model.load_state_dict(
            {k[len(prefix):]: v for k, v in self.tensors.items() if k.startswith(prefix)})
        self.tensors = {k: v for k, v in self.tensors.items() if not k.startswith(prefix)}
        if args.samples:
            for name, value in self.tensors.items():
                rows = torch.arange(args.samples) % value.shape[0]
                self.tensors[name] = value[rows].contiguous()
        self.network = torch.compile(self.model) if args.compile else self.model
        if args.world > 1 and args.sharing.startswith("ddp"):
            self.network = torch.nn.parallel.DistributedDataParallel(
                self.model, bucket_cap_mb=args.bucket_mib, gradient_as_bucket_view=True,
                broadcast_buffers=False)
        if args.world > 1 and args.sharing == "ddp-bf16":
            from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
            self.network.register_comm_hook(None, default_hooks.bf16_compress_hook)
        if args.world > 1 and args.sharing == "fsdp":
            from torch.distributed.fsdp import fully_shard
            mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (args.world,))
            frozen = {p for p in self.model.parameters() if not p.requires_grad}
            for block in [*self.model.spatial_blocks, *self.model.temporal_blocks]:
                fully_shard(block, mesh=mesh)
            fully_shard(self.model, mesh=mesh, ignored_params=frozen)
        self.pipeline, self.is_own, self.parts = None, None, []
        if args.sharing in ("tp", "pp"):
            self.share_network(args)
        parameters = self.pipeline.parameters() if self.pipeline else self.model.parameters()
        self.params = [p for p in parameters if p.requires_grad]
        # One fused call takes no mixture of DTensor and Tensor.
        kinds = [[p for p in self.params if (type(p.data) is torch.Tensor) == plain]
                 for plain in (True, False)]
        self.optimizers = [torch.optim.AdamW(kind, lr=LR, weight_decay=0.0, fused=True)
                           for kind in kinds if kind]
        self.ema = [self.local(p).detach().clone() for p in self.params]

    @staticmethod
    def local(tensor):
        return tensor.to_local() if hasattr(tensor, "to_local") else tensor

    def share_network(self, args):
        import stdit3_layouts
        self.layouts = stdit3_layouts
        if args.sharing == "tp":
            self.parts = stdit3_layouts.share_layers(self.model, args.world)
            self.is_own = stdit3_layouts.is_sharded
        else:
            self.pipeline = stdit3_layouts.Pipeline(self.model, args.rank, args.world)
            self.is_own = lambda p: True

    def backward(self, bucket, noise, t):
        x_start = self.tensors[f"in/{bucket}/x_start"]
        tau = (t / 1000.0).view(-1, 1, 1, 1, 1)
        x_t = torch.lerp(x_start, noise, tau)
        height, width = x_start.shape[-2:]
        if self.pipeline:
            return self.pipeline.backward(x_t, t, x_start - noise)
        out = self.network(x_t, t, torch.full((1,), 24.0), float(height), float(width))
        loss = torch.nn.functional.mse_loss(out, x_start - noise)
        loss.backward()
        return loss.detach()

    def loss(self, bucket):
        noise, t = (self.tensors[f"in/{bucket}/{name}"] for name in ("noise", "t"))
        loss = self.backward(bucket, noise, t)
        if self.pipeline:
            torch.distributed.all_reduce(loss)  # the last rank has it, the others 0
        norm = self.clip(float("inf"))
        self.clear()
        return {"loss": loss.item(), "grad_norm": norm.item()}

    def clip(self, limit):
        if self.parts:
            self.layouts.sum_parts(self.parts)
        if self.is_own:
            return self.layouts.clip_shared(self.params, self.is_own, limit)
        return torch.nn.utils.clip_grad_norm_(self.params, limit, foreach=True)

    def clear(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    def step(self, bucket):
        x_start = self.tensors[f"in/{bucket}/x_start"]
        noise = torch.randn_like(x_start)
        t = torch.rand(x_start.shape[0]) * 1000.0
        loss = self.backward(bucket, noise, t)
        self.clip(MAX_NORM)
        for optimizer in self.optimizers:
            optimizer.step()
        torch._foreach_lerp_(self.ema, [self.local(p) for p in self.params], 1 - DECAY)
        self.clear()
        return loss

    def steps(self, bucket, count):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(count):
            loss = self.step(bucket)
        loss = loss.item()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return {"wall_s": wall, "cpu_s": cpu, "loss": loss}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--case", required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--host", default="127.0.0.1", help="of rank 0")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--sharing", choices=["ddp", "ddp-bf16", "fsdp", "tp", "pp"], default="ddp")
    parser.add_argument("--bucket-mib", type=float, default=1.0)
    parser.add_argument("--samples", type=int, default=0, help="of a step; 0: the stored ones")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.world > 1:
        os.environ.update(MASTER_ADDR=args.host, MASTER_PORT=str(args.port))
        torch.distributed.init_process_group("gloo", rank=args.rank, world_size=args.world)
    torch.manual_seed(args.rank)
    trainer = Trainer(args.model, args.case, args)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak so far is that of loading
    print("ready", flush=True)
    for line in sys.stdin:
        command, bucket, *count = line.split()
        if command == "memory":
            answer = {"peak_bytes": peak_bytes()}
        elif command == "loss":
            answer = trainer.loss(bucket)
        else:
            answer = trainer.steps(bucket, int(count[0]))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
