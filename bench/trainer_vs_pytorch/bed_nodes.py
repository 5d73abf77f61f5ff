"""Ranks on the nodes of tests/cluster/bed: network namespaces joined by links of a given rate. A
node has one rank, one thread and one core. Needs root."""
import contextlib
import os
import subprocess
import sys
import tempfile

import compare
import options

BED = os.path.join(options.ROOT, "tests/cluster/bed")


class NodePeer(compare.Peer):
    """Ranks on nodes of a bed."""

    def __init__(self, command, case, nodes, bed, port):
        env = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
               "GLOO_SOCKET_IFNAME": "eth0"}
        cores = sorted(os.sched_getaffinity(0))
        address = subprocess.run([BED, "exec", bed, "n0", "ip", "-4", "-o", "addr", "show", "eth0"],
                                 capture_output=True, text=True, check=True).stdout.split()[3]
        host = address.split("/")[0]
        self.ranks = []
        for rank in range(nodes):
            place = [BED, "exec", bed, f"n{rank}", "taskset", "-c", str(cores[rank % len(cores)])]
            self.ranks.append(subprocess.Popen(
                [*place, *command, "--case", case, "--rank", str(rank), "--world", str(nodes),
                 "--host", host, "--port", str(port)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env))
        for rank in self.ranks:
            if rank.stdout.readline().strip() != "ready":
                sys.exit(f"{command[0]}: did not start")


def shape(bed, nodes, rate):
    for node in range(nodes):
        subprocess.run([BED, "shape", bed, f"n{node}", rate], check=True)


@contextlib.contextmanager
def bed_of(nodes):
    """The folder of a bed with so many nodes; it ends with the block."""
    with tempfile.TemporaryDirectory() as folder:
        bed = os.path.join(folder, "bed")
        subprocess.run([BED, "up", bed, "--nodes", str(nodes), "--no-slurm", "--no-sshd"],
                       check=True)
        try:
            yield bed
        finally:
            subprocess.run([BED, "down", bed], check=False)


def add_options(parser):
    parser.add_argument("--links", default="200mbit,1gbit", help="rates, as tc writes them")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--bucket-mib", type=int, default=4)
