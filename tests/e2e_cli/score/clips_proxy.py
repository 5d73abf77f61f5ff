"""A program in place of osora-clips: passes messages between osora and the children that decode,
and does something before each clip. Ranks that are killed in the middle of their clips."""
import sys

from run_kit import BIN

PROXY = """#!{python}
import os, pathlib, resource, signal, socket, struct, subprocess, sys, time
clips = {clips!r}
{hook}
if sys.argv[1] not in ("read", "verify", "survey", "draw"):
    os.execv(clips, [clips, *sys.argv[1:]])
def take(stream, size):
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            sys.exit(0)
        data += part
    return data
def message(stream):
    head = take(stream, 8)
    data, texts = head, []
    for _ in range(struct.unpack("=Q", head)[0]):
        size = take(stream, 8)
        texts.append(take(stream, struct.unpack("=Q", size)[0]))
        data += size + texts[-1]
    return data, texts
osora = socket.socket(fileno=0)
ours, theirs = socket.socketpair()
subprocess.Popen([clips, *sys.argv[1:]], stdin=theirs, stdout=theirs)
theirs.close()
osora.sendall(message(ours)[0])
number = 0
while True:
    data, texts = message(osora)
    number += 1
    before(os.path.basename(os.fsdecode(texts[0])), number)
    ours.sendall(data)
    osora.sendall(message(ours)[0])
"""
# Rank 1 has two clips scored and is killed before its third; rank 0 waits for that before its
# second, so that clips are left for both.
KILL = """
def before(name, number):
    if os.environ["OSORA_ATTEMPT"] != "0":
        return
    if os.environ["RANK"] == "1" and number == 3:
        os.kill(os.getppid(), signal.SIGKILL)
    while os.environ["RANK"] == "0" and number == 2:
        time.sleep(1)
"""
WORKER = """#!{python}
import os, sys
os.environ["OSORA_CLIPS"] = {proxy!r}
os.execv({worker!r}, [{worker!r}, *sys.argv[1:]])
"""


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def write_proxy(path, hook):
    """`hook`: defines before(name, number) of a clip's file and the place of it in this child."""
    write_program(path, PROXY.format(python=sys.executable, clips=str(BIN / "osora-clips"),
                                     hook=hook))


def kill_scoring_rank(program):
    """Writes `program`, in place of osora-worker: rank 1 of the first attempt of a score run with
    two ranks is killed when it has rows of two clips."""
    proxy = program.with_name("clips of killed ranks")
    write_proxy(proxy, KILL)
    write_program(program, WORKER.format(python=sys.executable, proxy=str(proxy),
                                         worker=str(BIN / "osora-worker")))
