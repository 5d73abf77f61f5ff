"""The launchers that side_by_side.py compares: how each is asked to start, and to cancel, a job.

Each starts NODES ranks, one on a node, nodes not shared. submit() writes what the launcher needs
into the job's folder and returns the command; own: variables to be set the launcher's own way.
"""
import json
import os
import re
import shlex
from typing import NamedTuple

NODES = 3
RESTARTS = 3
VALUES = {
    "comma": b"mlx5_0,mlx5_1",
    "newline": b"first\nsecond",
    "quotes": b"'single' \"double\"",
    "dollar": b"$HOME ${HOME} $(id) `id`",
    "backslash": b"a\\nb\\",
    "spaces": b"  two  ",
    "utf8": "\u017elu\u0165".encode(),
}
SUBMITIT_CLIENT = """import json, sys
import submitit
import side_by_side_rank
folder, setup, srun_args = json.loads(sys.argv[1])
executor = submitit.AutoExecutor(folder=folder + "/submitit", cluster="slurm")
executor.update_parameters(nodes={nodes}, tasks_per_node=1, cpus_per_task=1, timeout_min=60,
                           slurm_exclusive=True, slurm_setup=setup, slurm_srun_args=srun_args)
print(executor.submit(side_by_side_rank.main, folder).job_id)
"""
SUBMITIT_CANCEL = """import sys
import submitit
submitit.SlurmJob(folder=sys.argv[1] + "/submitit", job_id=sys.argv[2]).cancel()
"""
TORCHX_COMPONENT = """import json
import torchx.specs as specs
def side(python: str, script: str, folder: str, env: str) -> specs.AppDef:
    role = specs.Role(
        name="rank", image="", entrypoint=python, num_replicas={nodes}, max_retries={restarts},
        args=[script, folder, specs.macros.replica_id], env=json.loads(env),
        resource=specs.Resource(cpu=16, gpu=0, memMB=1000))
    return specs.AppDef(name="side", roles=[role])
"""
# The bed has no accounting database, which submitit and TorchX read states from: squeue answers.
SACCT = """#!/bin/sh
while [ $# -gt 1 ] && [ "$1" != -j ]; do shift; done
echo 'JobID|JobName|State|NodeList'
exec squeue -h -t all -j "$2" -o '%i|%j|%T|%N'
"""


class Places(NamedTuple):
    """Where things are; every path is seen by all nodes."""
    osora: str
    python: str   # of the virtual environment that has the peers
    torchx: str
    program: str  # side_by_side_rank.py


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


class Osora:
    """`osora submit` of an exec job; with spare nodes when asked."""
    name, spares = "osora", 0

    def submit(self, places, folder, own):
        env = ", ".join(f"{name} = {json.dumps(value)}" for name, value in own.items())
        write(folder, "run.toml", f"""[run]
name = "side"
job = "exec"
[probe]
before_start = "never"
[resources]
backend = "slurm"
nodes = {NODES}
gpus_per_node = 1
cpus_per_worker = 1
spares = {self.spares}
[slurm]
gpus = "none"
extra = ["--exclusive"]
[worker]
command = ["{places.python}", "{places.program}", "{folder}"]
env = {{ {env} }}
[faults]
max_restarts = {RESTARTS}
""")
        return [places.osora, "submit", "run.toml", "--detach", "--json"]

    def job_id(self, output):
        return re.search(r'"slurm_job":(\d+)', output)[1]

    def cancel(self, places, _folder, _job_id):
        return [places.osora, "cancel", "1"]

    def says(self, places, _folder, _job_id):
        return [places.osora, "status", "1"]


class OsoraSpare(Osora):
    name, spares = "osora, 1 spare", 1


class OsoraNow(Osora):
    name = "osora, --now"

    def cancel(self, places, _folder, _job_id):
        return [places.osora, "cancel", "1", "--now"]


class Submitit:
    """submitit's AutoExecutor with the program as a function; it has no option for variables."""
    name, srun_args = "submitit", []

    def submit(self, places, folder, own):
        write(folder, "client.py", SUBMITIT_CLIENT.format(nodes=NODES))
        setup = [f"export {name}={shlex.quote(value)}" for name, value in own.items()]
        return [places.python, "client.py", json.dumps([folder, setup, self.srun_args])]

    def job_id(self, output):
        return output.split()[-1]

    def cancel(self, places, folder, job_id):
        return [places.python, "-c", SUBMITIT_CANCEL, folder, job_id]

    def says(self, _places, folder, job_id):
        return ["sh", "-c", f"tail -n 4 {folder}/submitit/{job_id}_*_log.err"]


class SubmititKill(Submitit):
    name, srun_args = "submitit, srun -K", ["--kill-on-bad-exit=1"]


class Torchx:
    """`torchx run` with a component of NODES replicas, which become one heterogeneous job."""
    name = "TorchX"

    def submit(self, places, folder, own):
        write(folder, "component.py", TORCHX_COMPONENT.format(nodes=NODES, restarts=RESTARTS))
        return [places.torchx, "--log_level", "WARNING", "run", "--scheduler", "slurm",
                "component.py:side", "--python", places.python, "--script", places.program,
                "--folder", folder, "--env", json.dumps(own)]

    def job_id(self, output):
        return re.search(r"slurm://torchx/(\d+)", output)[1]

    def cancel(self, places, _folder, job_id):
        return [places.torchx, "--log_level", "WARNING", "cancel", f"slurm://torchx/{job_id}"]

    def says(self, _places, folder, job_id):
        return ["sh", "-c", f"tail -n 4 {folder}/slurm-{job_id}.out | cut -c -200"]


class Srun:
    """A batch script with an srun, variables given as srun's manual says: --export=ALL,K=V."""
    name, flags = "srun", ""

    def submit(self, places, folder, own):
        export = shlex.quote(",".join(["ALL", *(f"{key}={value}" for key, value in own.items())]))
        write(folder, "job.sh", f"""#!/bin/sh
#SBATCH --job-name=side --nodes={NODES} --ntasks-per-node=1 --cpus-per-task=1 --exclusive
srun {self.flags} --export={export} {places.python} {places.program} {folder}
""")
        return ["sbatch", "--parsable", "job.sh"]

    def job_id(self, output):
        return output.strip()

    def cancel(self, _places, _folder, job_id):
        return ["scancel", job_id]

    def says(self, _places, folder, job_id):
        return ["tail", "-n", "4", f"{folder}/slurm-{job_id}.out"]


class SrunKill(Srun):
    name, flags = "srun -K", "--kill-on-bad-exit=1"
