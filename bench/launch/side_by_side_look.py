"""What side_by_side.py sees of a job (records of its ranks, processes, files, Slurm's state of it)
and how it tells the results: medians with 95 % bootstrap intervals, as Markdown."""
import datetime
import json
import os
import random
import re
import statistics
import time

RANK, CHILD, DEAF, OTHER = KINDS = ("rank", "child", "deaf child", "launcher")


def records(folder):
    """Of every rank that has started, with its last sign of life."""
    found = []
    with os.scandir(os.path.join(folder, "ranks")) as entries:
        for entry in entries:
            if not entry.name.endswith(".new"):
                with open(entry.path, encoding="ascii") as file:
                    found.append({**json.load(file), "alive": entry.stat().st_mtime})
    return found


def processes(home):
    """Processes of jobs with folders in home, on any node: known by arguments and environment."""
    found, pattern = [], re.compile(re.escape(home.encode()) + rb"/\d{4}\b")
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command, environ, stat = (open(f"/proc/{pid}/{name}", "rb").read()
                                      for name in ("cmdline", "environ", "stat"))
        except OSError:
            continue
        folder = pattern.search(command) or pattern.search(environ)
        if not folder:
            continue
        name, fields = re.match(rb"\d+ \((.*)\) (.*)", stat, re.S).groups()
        if fields.startswith(b"Z"):
            continue
        kind = {b"side-child": CHILD, b"side-deaf": DEAF}.get(name, OTHER)
        program = (b"side_by_side_rank.py", b"submitit.core._submit")
        if kind == OTHER and name.startswith(b"python") and any(one in command for one in program):
            kind = RANK
        started = booted + int(fields.split()[19]) / os.sysconf("SC_CLK_TCK")
        found.append({"pid": int(pid), "kind": kind, "started": started,
                      "folder": folder[0].decode()})
    return found


def files(folder, bed, given):
    """What a launcher keeps of a job, without the files that it was given and osora's history of
    all runs; and files elsewhere of the job's user."""
    count, size, owner = 0, 0, os.stat(folder).st_uid
    for at, _, names in os.walk(folder):
        for name in names:
            ours = os.path.basename(at) == "ranks" or at == folder and name in given
            if not ours and not name.startswith("history.db"):
                count += 1
                size += os.lstat(os.path.join(at, name)).st_size
    elsewhere = []
    nodes = os.path.join(bed, "nodes")
    for place in ["/tmp", *(f"/proc/{pid}/root/dev/shm" for pid in first_processes(nodes))]:
        with os.scandir(place) as entries:
            elsewhere += [entry.name for entry in entries
                          if entry.stat(follow_symlinks=False).st_uid == owner != 0]
    return {"count": count, "bytes": size, "elsewhere": elsewhere}


def first_processes(nodes):
    for name in os.listdir(nodes):
        with open(os.path.join(nodes, name, "pid"), encoding="ascii") as file:
            pid = file.read().split()[0]
        if os.path.exists(f"/proc/{pid}/root/dev/shm"):
            yield pid


def job_state(line):
    """Slurm's words about a job, from `scontrol -o show job`."""
    found = dict(re.findall(r"\b(JobState|Reason|Restarts|ExitCode)=(\S+)", line.split("\n")[0]))
    return " ".join(f"{key}={value}" for key, value in found.items()) or line.strip()


def job_start(bed, job_id):
    """Wall time when slurmctld started a job; of a heterogeneous one its last part."""
    with open(os.path.join(bed, "log/slurmctld.log"), encoding="utf-8") as file:
        found = re.findall(r"^\[(\S+)\] sched.*(?:Started|Allocate) JobId=" + job_id + r"\b",
                           file.read(), re.M)
    return datetime.datetime.fromisoformat(found[-1]).timestamp()


def median(values):
    """Median and 95 % interval, in seconds, as text."""
    if not values:
        return "-"
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(2000))
    return f"{statistics.median(values):.2f} s [{medians[50]:.2f}, {medians[1949]:.2f}]"


def timed(rows, key):
    """Median of those that have the time, and how many have not."""
    have = [row[key] for row in rows if row.get(key) is not None]
    without = len(rows) - len(have)
    return median(have) + (f" ({without} of {len(rows)} never)" if without and have else
                           " never" if without else "")


def left(rows):
    """The most processes that were left, by kind."""
    most = {kind: max(row["left"][kind] for row in rows) for kind in KINDS}
    return ", ".join(f"{count} {kind}" for kind, count in most.items() if count) or "none"


def states(rows):
    return " / ".join(sorted({row["state"] for row in rows}))


COLUMNS = {
    "start": [("submitting command returns", lambda rows: timed(rows, "submitted_s")),
              ("Slurm starts the job", lambda rows: timed(rows, "queued_s")),
              ("from there to the last rank", lambda rows: timed(rows, "launch_s")),
              ("first instruction of the last rank", lambda rows: timed(rows, "running_s"))],
    "kill": [("other ranks stopped", lambda rows: timed(rows, "stopped_s")),
             ("all ranks run again", lambda rows: timed(rows, "again_s")),
             ("left of what was", left), ("Slurm says", states)],
    "cancel": [("command returns", lambda rows: timed(rows, "command_s")),
               ("ranks gone", lambda rows: gone(rows, RANK)),
               ("children gone", lambda rows: gone(rows, CHILD)),
               ("processes left", left),
               ("files", lambda rows: f"{rows[0]['files']['count']}, "
                                      f"{rows[0]['files']['bytes'] / 1024:.1f} KiB")],
}
COLUMNS["power"] = COLUMNS["orphans"] = COLUMNS["kill"]


def gone(rows, kind):
    return timed([{"s": row["gone_s"].get(kind)} for row in rows], "s")


def environment_table(rows):
    names = list(dict.fromkeys(row["name"] for row in rows))
    launchers = list(dict.fromkeys(row["launcher"] for row in rows))
    lines = ["| variable | " + " | ".join(launchers) + " |", "|---" * (len(launchers) + 1) + "|"]
    for name in names:
        cells = []
        for launcher in launchers:
            mine = [row for row in rows if row["name"] == name and row["launcher"] == launcher]
            bad = [row["got"] for row in mine if not row["exact"]]
            cells.append(f"`{json.dumps(bad[0], ensure_ascii=False)}`" if bad else "exact")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def markdown(results):
    lines = [json.dumps(results["versions"])]
    for name, rows in results.items():
        if name == "versions":
            continue
        lines += ["", f"## {name}", ""]
        if name == "environment":
            lines += environment_table(rows)
            continue
        lines += ["| launcher | tries | " + " | ".join(head for head, _ in COLUMNS[name]) + " |",
                  "|---" * (len(COLUMNS[name]) + 2) + "|"]
        for launcher in dict.fromkeys(sorted(row["launcher"] for row in rows)):
            mine = [row for row in rows if row["launcher"] == launcher]
            cells = [tell(mine) for _, tell in COLUMNS[name]]
            lines.append(f"| {launcher} | {len(mine)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
