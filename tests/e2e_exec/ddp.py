"""A PyTorch DDP script as people have them: it knows nothing of osora but torchrun's variables,
prints a line a step from rank 0, and fails on request. Run by ddp_test.py."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    steps = int(sys.argv[1])
    fails_at = int(sys.argv[2]) if len(sys.argv) > 2 else -1
    dist.init_process_group("gloo")
    rank, attempt = dist.get_rank(), int(os.environ["OSORA_ATTEMPT"])
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(steps):
        begin = time.perf_counter()
        x = torch.randn(32, 16)
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        if step == fails_at and rank == 1 and attempt == 0:
            raise ValueError("rank 1 was asked to fail")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            took_ms = 1000 * (time.perf_counter() - begin)
            print(f"step {step} loss {loss.item():.5f} time {took_ms:.2f} ms", flush=True)
    dist.destroy_process_group()


main()
