"""The program that side_by_side.py has every launcher start: one rank of a job.

  side_by_side_rank.py FOLDER [RANK]

Its record, FOLDER/ranks/RANK-HOST-PID, says when its first instruction ran and what arrived of the
environment; the record's time of change is its last sign of life. With FOLDER/children it has
two, as loaders have: an ordinary one, and one in a session of its own that does not hear SIGTERM.
All end when FOLDER/over exists, and by themselves after LIMIT_S.
"""
import time

STARTED = time.time()  # the first instruction

import json  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import sys  # noqa: E402

LIMIT_S = 900
BEAT_S = 0.05


def over(folder):
    return time.time() - STARTED > LIMIT_S or os.path.exists(os.path.join(folder, "over"))


def start_child(folder, name, deaf):
    if os.fork() != 0:
        return
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write(name)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if deaf else signal.SIG_DFL)
    if deaf:
        os.setsid()
    while not over(folder):
        time.sleep(0.2)
    os._exit(0)


def main(folder, rank=None):
    if rank is None:
        rank = os.environ.get("RANK") or os.environ["SLURM_PROCID"]
    arrived = {name.decode(): value.hex() for name, value in os.environb.items()
               if name.startswith(b"SIDE_")}
    record = {"started": STARTED, "rank": int(rank), "host": socket.gethostname(),
              "pid": os.getpid(), "environment": arrived}
    path = os.path.join(folder, "ranks", f"{rank}-{record['host']}-{record['pid']}")
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump(record, file)
    os.rename(path + ".new", path)
    if os.path.exists(os.path.join(folder, "children")):
        start_child(folder, "side-child", deaf=False)
        start_child(folder, "side-deaf", deaf=True)
    while not over(folder):
        os.utime(path)
        time.sleep(BEAT_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
