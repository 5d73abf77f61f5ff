#!/usr/bin/env python3
"""osora, submitit, TorchX and srun in a batch script, side by side on a bed with real Slurm.

  bench/launch/side_by_side.py [--rounds 15] [--only start,environment,kill,orphans,power,cancel]
                               [--slurm-defaults] [--venv DIR] [--build build] [--out FILE.json]

On a bed (tests/cluster/bed; needs root) each launcher starts the same program
(side_by_side_rank.py) on 3 nodes, one rank a node; peers are installed from PyPI into a virtual
environment outside the tree. Measured, with launchers taking turns: the time from the submitting
command to the first instruction of the last rank; what follows a rank's SIGKILL, a node's loss of
power, and a cancel: when it is noticed, when all ranks run again, what is left; which values of
environment variables arrive byte for byte. Prints Markdown, writes JSON. --slurm-defaults leaves
Slurm's own waits as Slurm has them (a node is missed after 5 minutes): use few --rounds. Exit code
77 when no bed can run here. docs/guide/side_by_side.md reads the results.
"""
import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import side_by_side_launchers as launchers
import side_by_side_look as look

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BED = os.path.join(ROOT, "tests/cluster/bed")
PEERS = ["submitit==1.5.4", "torchx==0.7.0"]
NODES = 26  # of the bed: every job of a round, a spare, and a node more for each that loses one
START_LIMIT_S = 60
BETWEEN_S = 1.0  # one fault and the next
# A batch job waits up to 3 s for the scheduler, a heterogeneous one for the backfill scheduler.
SLURM_QUICK = ["SchedulerParameters=batch_sched_delay=0,sched_min_interval=10000,bf_interval=1"]
SLURM_DEFAULTS = ["SlurmdTimeout=300", "KillWait=30", "SchedulerParameters=bf_interval=30",
                  "MessageTimeout=10", "AuthInfo=socket={bed}/munge-run/socket"]
MAIN = [launchers.Osora, launchers.Submitit, launchers.Torchx, launchers.SrunKill]
VARIANTS = {
    "start": MAIN, "environment": MAIN, "cancel": [*MAIN, launchers.OsoraNow],
    "kill": [*MAIN, launchers.SubmititKill, launchers.Srun],
    "orphans": [*MAIN, launchers.SubmititKill, launchers.Srun],
    "power": [launchers.Osora, launchers.OsoraSpare, *MAIN[1:]],
}
WATCH_S = {"kill": 12, "orphans": 12, "power": 75, "cancel": 10}
WATCH_DEFAULTS_S = {"kill": 170, "orphans": 170, "power": 540, "cancel": 50}


class Job:
    """One job of one launcher, in a folder of its own."""

    def __init__(self, launcher, folder):
        self.launcher, self.folder = launcher, folder
        self.id, self.env, self.submitted, self.returned_s = "", {}, 0, 0
        self.given, self.fault, self.victim = set(), 0, None
        self.command, self.command_s, self.command_said, self.gone = None, None, "", {}

    def records(self):
        return look.records(self.folder)

    def runs(self, after):
        """Wall time of the first instruction of the last rank since then; None: not all yet."""
        first = {}
        for record in self.records():
            if record["started"] > after:
                rank = record["rank"]
                first[rank] = min(record["started"], first.get(rank, record["started"]))
        return max(first.values()) if len(first) == launchers.NODES else None


class Bench:
    """The bed, what was installed for it, and how commands run on its login node."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.bed = os.path.join(folder, "bed")
        self.count = 0

    def install(self):
        venv = self.arguments.venv or os.path.join(self.folder, "venv")
        if not os.path.exists(os.path.join(venv, "bin/torchx")):
            subprocess.run([self.arguments.python, "-m", "venv", venv], check=True)
            subprocess.run([os.path.join(venv, "bin/pip"), "install", "--quiet",
                            "--disable-pip-version-check", *PEERS], check=True)
        self.venv = os.path.abspath(venv)

    def up(self):
        words = [BED, "serve", self.bed, "--nodes", str(NODES), "--no-sshd"]
        for line in SLURM_DEFAULTS if self.arguments.slurm_defaults else SLURM_QUICK:
            words += ["--conf", line.format(bed=self.bed)]
        self.serve = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      stdin=subprocess.DEVNULL, text=True, preexec_fn=die_with_us)
        said = ""
        for line in self.serve.stdout:
            if line == "ready\n":
                break
            said += line
        else:
            sys.exit(f"no bed: {said}")
        self.find_user()
        program = shutil.copy(os.path.join(ROOT, "bench/launch/side_by_side_rank.py"), self.home)
        sacct = os.path.join(self.home, "bin/sacct")
        os.mkdir(os.path.dirname(sacct))
        launchers.write(self.home, "bin/sacct", launchers.SACCT)
        os.chmod(sacct, 0o755)
        bin_folder = os.path.join(self.venv, "bin")
        self.places = launchers.Places(
            osora=os.path.join(self.arguments.build, "bin/osora"), program=program,
            python=os.path.join(bin_folder, "python"), torchx=os.path.join(bin_folder, "torchx"))
        path = [os.path.dirname(sacct), bin_folder, "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        self.env = {"PATH": ":".join(path), "LANG": "C.UTF-8", "PYTHONPATH": self.home}

    def find_user(self):
        """alice, or root where only root can run what was built."""
        wanted = [os.path.join(self.arguments.build, "bin/osora"), self.arguments.python]
        for self.user in ("alice", "root"):
            self.env, self.home = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, self.bed
            if not any(self.call(["test", "-x", program])[0] for program in wanted):
                break
        self.home = os.path.join(self.bed, "home", self.user)

    def down(self):
        self.serve.kill()
        self.serve.wait()

    def start(self, words, cwd, env=None):
        """A command on the login node."""
        return subprocess.Popen([BED, "exec", self.bed, f"{self.user}@ctl", *words], cwd=cwd,
                                env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace", preexec_fn=die_with_us)

    def call(self, words, cwd=None, env=None):
        process = self.start(words, cwd or self.home, env)
        output = process.communicate(timeout=120)[0]
        return process.returncode, output

    def on_node(self, node, words):
        subprocess.run([BED, "exec", self.bed, f"root@{node}", *words], check=True,
                       env=self.env, cwd=self.bed)

    def submit(self, launcher, own=None, env=None, children=False):
        self.count += 1
        folder = os.path.join(self.home, f"{self.count:04}")
        os.makedirs(os.path.join(folder, "ranks"))
        if children:
            launchers.write(folder, "children", "")
        job = Job(launcher(), folder)
        job.env = {"OSORA_STATE_DIR": os.path.join(folder, "state"), **(env or {})}
        words = job.launcher.submit(self.places, folder, own or {})
        job.given = {"over", *os.listdir(folder)}
        subprocess.run(["chown", "-R", f"--reference={self.home}", folder], check=True)
        job.submitted = time.time()
        code, output = self.call(words, folder, job.env)
        job.returned_s = time.time() - job.submitted
        if code != 0:
            sys.exit(f"{job.launcher.name}: exit code {code}\n{output}")
        job.id = job.launcher.job_id(output)
        return job

    def await_running(self, job, after=0):
        limit = time.time() + START_LIMIT_S
        while (last := job.runs(after)) is None:
            if time.time() > limit:
                says = self.call(job.launcher.says(self.places, job.folder, job.id), job.folder,
                                 job.env)[1]
                queue = self.call(["squeue"])[1]
                sys.exit(f"{job.launcher.name}: not started\n{says}\n{queue}")
            time.sleep(0.02)
        return last

    def finish(self, jobs):
        """Ends the ranks of the jobs, empties the queue, waits until all nodes are idle."""
        for job in jobs:
            launchers.write(job.folder, "over", "")
        limit = time.time() + 120
        while time.time() < limit:
            if not self.call(["squeue", "-h"])[1].strip():
                break
            if time.time() > limit - 115:
                self.call(["scancel", "-u", self.user])
            time.sleep(0.1)
        while time.time() < limit:
            idle = self.call(["sinfo", "-h", "-o", "%D %T"])[1].split()
            if idle == [str(NODES), "idle"]:
                return
            time.sleep(0.2)
        sys.exit("the bed's nodes do not become idle: " + self.call(["sinfo"])[1])


def die_with_us():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def turn(variants, count):
    """The launchers, each time another one first."""
    return variants[count % len(variants):] + variants[:count % len(variants)]


def measure_start(bench, rounds):
    rows = []
    for count in range(rounds + 1):  # the first warms up
        for launcher in turn(VARIANTS["start"], count):
            job = bench.submit(launcher)
            running = bench.await_running(job)
            bench.finish([job])
            if count > 0:
                started = look.job_start(bench.bed, job.id)
                rows.append({"launcher": job.launcher.name, "round": count,
                             "submitted_s": job.returned_s, "running_s": running - job.submitted,
                             "queued_s": started - job.submitted, "launch_s": running - started})
    return rows


def measure_environment(bench, _rounds):
    rows = []
    inherited = {b"SIDE_IN_" + name.upper().encode(): value
                 for name, value in launchers.VALUES.items()}
    inherited[b"SIDE_IN_BYTES"] = b"\xff\xfe"
    for name, value in launchers.VALUES.items():
        for launcher in VARIANTS["environment"]:
            own = {"SIDE_OWN_" + name.upper(): value.decode()}
            env = {os.fsdecode(key): os.fsdecode(text) for key, text in inherited.items()}
            job = bench.submit(launcher, own=own, env=env)
            bench.await_running(job)
            wanted = {**{os.fsdecode(key): text.hex() for key, text in inherited.items()},
                      **{key: text.encode().hex() for key, text in own.items()}}
            for key, text in wanted.items():
                got = {record["environment"].get(key) for record in job.records()}
                rows.append({"launcher": job.launcher.name, "name": key, "exact": got == {text},
                             "got": [bytes.fromhex(one).decode(errors="replace") if one is not None
                                     else None for one in got]})
            bench.finish([job])
    return rows


def inject(bench, kind, job):
    """The fault; the victim is the last rank, or its node."""
    if kind == "cancel":
        words = job.launcher.cancel(bench.places, job.folder, job.id)
        job.fault = time.time()
        job.command = bench.start(words, job.folder, job.env)
        return
    job.victim = max(job.records(), key=lambda record: record["rank"])
    hosts = [record["host"] for record in job.records() if record["rank"] < launchers.NODES - 1]
    if job.victim["host"] in hosts:
        sys.exit(f"{job.launcher.name}: two ranks on {job.victim['host']}")
    job.fault = time.time()
    if kind != "power":
        bench.on_node(job.victim["host"], ["kill", "-KILL", str(job.victim["pid"])])
    else:
        subprocess.run([BED, "power", bench.bed, job.victim["host"], "off"], check=True)


def fault_and_watch(bench, kind, jobs, limit_s):
    """A fault to each job, BETWEEN_S apart, until all run again (cancelled: are gone), limit_s
    after the last fault at most. job.gone: seconds from the fault until none of a kind was left."""
    start = time.time()
    limit = start + len(jobs) * BETWEEN_S + limit_s
    while time.time() < limit:
        due = int((time.time() - start) / BETWEEN_S) + 1
        for job in jobs[:due]:
            if not job.fault:
                inject(bench, kind, job)
        if kind == "cancel":
            watch_end([job for job in jobs if job.fault], bench)
            over = all(job.command_s and len(job.gone) == len(look.KINDS) for job in jobs)
        else:
            over = all(job.fault and job.runs(job.fault) for job in jobs)
        if over:
            break
        time.sleep(0.05)


def watch_end(jobs, bench):
    left = look.processes(bench.home)
    now = time.time()
    for job in jobs:
        if job.command_s is None and job.command.poll() is not None:
            job.command_s = now - job.fault
            job.command_said = job.command.communicate()[0]
        kinds = {one["kind"] for one in left if one["folder"] == job.folder}
        for kind in set(look.KINDS) - kinds - job.gone.keys():
            job.gone[kind] = now - job.fault


def outcome(bench, kind, job):
    """What became of one job after a fault."""
    again = job.runs(job.fault)
    first = [record for record in job.records() if record["started"] <= job.fault]
    rest = [one for one in first if kind == "cancel" or one["pid"] != job.victim["pid"]
            or one["host"] != job.victim["host"]]
    last = max(record["alive"] for record in rest)
    says = bench.call(job.launcher.says(bench.places, job.folder, job.id), job.folder, job.env)[1]
    mine = [one for one in look.processes(bench.home) if one["folder"] == job.folder]
    old = [one for one in mine if one["kind"] != look.OTHER and one["started"] < job.fault]
    stopped = not any(one["kind"] == look.RANK for one in old)
    left = mine if again is None else old
    return {"launcher": job.launcher.name,
            "stopped_s": last - job.fault if stopped else None,
            "again_s": again - job.fault if again else None,
            "left": {kind: sum(one["kind"] == kind for one in left) for kind in look.KINDS},
            "state": look.job_state(bench.call(["scontrol", "-o", "show", "job", job.id])[1]),
            "says": says[-1500:], "files": look.files(job.folder, bench.bed, job.given)}


def measure_fault(kind):
    def measure(bench, rounds):
        rows = []
        limits = WATCH_DEFAULTS_S if bench.arguments.slurm_defaults else WATCH_S
        for count in range(rounds):
            jobs = [bench.submit(launcher, children=kind in ("orphans", "cancel"))
                    for launcher in turn(VARIANTS[kind], count)]
            for job in jobs:
                bench.await_running(job)
            time.sleep(1)
            fault_and_watch(bench, kind, jobs, limits[kind])
            time.sleep(1.2)
            for job in jobs:
                row = {"round": count, **outcome(bench, kind, job)}
                if kind == "cancel":
                    row.update(command_s=job.command_s, said=job.command_said[-300:],
                               code=job.command.returncode, gone_s=job.gone)
                rows.append(row)
            subprocess.run([BED, "heal", bench.bed], check=True)
            bench.finish(jobs)
            print(f"{kind}: round {count + 1} of {rounds}", file=sys.stderr, flush=True)
        return rows
    return measure


MEASURES = {"start": measure_start, "environment": measure_environment,
            **{kind: measure_fault(kind) for kind in ("kill", "orphans", "power", "cancel")}}


def versions(bench):
    slurm = bench.call(["sinfo", "--version"])[1].strip()
    return {"osora": bench.call([bench.places.osora, "--version"])[1].strip(), "slurm": slurm,
            "peers": PEERS, "cores": os.cpu_count(), "load_before": os.getloadavg()[2]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default=",".join(MEASURES))
    parser.add_argument("--slurm-defaults", action="store_true")
    parser.add_argument("--python", default="/usr/bin/python3", help="that every user can run")
    parser.add_argument("--venv", help="keep the peers here for the next time")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--out", help="results as JSON, added to what is there")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - MEASURES.keys():
        parser.error(f"no measurement {', '.join(unknown)}; there are {', '.join(MEASURES)}")
    check = subprocess.run([BED, "check"], capture_output=True, text=True)
    if check.returncode != 0:
        print(check.stdout.strip())
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="osora-side-") as folder:
        os.chmod(folder, 0o755)
        bench = Bench(arguments, folder)
        bench.install()
        bench.up()
        try:
            results = {}
            if arguments.out and os.path.exists(arguments.out):
                with open(arguments.out, encoding="utf-8") as file:
                    results = json.load(file)
            results["versions"] = versions(bench)
            for name in arguments.only:
                results[name] = MEASURES[name](bench, arguments.rounds)
                if arguments.out:
                    with open(arguments.out, "w", encoding="utf-8") as file:
                        json.dump(results, file, indent=1)
        finally:
            bench.down()
    print(look.markdown(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
