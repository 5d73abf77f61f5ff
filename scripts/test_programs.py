"""Lists the test programs of a build folder with ctest and runs them: longest first, as many at a
time as the machine has cores and memory for, and beside them as many of those with the label
`waits`, which take little of a core. Knows ctest's properties LABELS, ENVIRONMENT,
WORKING_DIRECTORY, TIMEOUT, PROCESSORS, RUN_SERIAL and SKIP_RETURN_CODE. Any other is an error, so
that none is ignored silently. Driven by run_tests."""
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PLACES_MIN = 2  # programs at a time: tests of two processes need no more cores
MEMORY_OF_A_PROGRAM = 4 << 30
POLL_S = 0.02
KNOWN = {"LABELS", "ENVIRONMENT", "WORKING_DIRECTORY", "TIMEOUT", "PROCESSORS", "RUN_SERIAL",
         "SKIP_RETURN_CODE"}


@dataclass
class Program:
    name: str
    command: list  # argv; empty when the program is missing
    folder: str  # where it runs
    environment: dict
    time_limit_s: float
    waits: bool  # mostly: it takes little of a core
    alone: bool  # beside no other
    skip_code: int | None

    @property
    def xml(self):
        """Where a GoogleTest program writes its result; None for another program."""
        for argument in self.command:
            if argument.startswith("--gtest_output=xml:"):
                return Path(argument.split(":", 1)[1])
        return None


@dataclass
class Run:
    code: int | None  # exit code, minus the signal that ended it; None: not started or out of time
    ending: str  # in words
    seconds: float
    output: str
    cpu_seconds: float = 0  # of it and of the processes that it waited for


def limit_of(path, column=0):
    """A number of a cgroup's file; None: no such file, or no limit."""
    try:
        return int(Path(path).read_text().split()[column])
    except (OSError, ValueError, IndexError):
        return None


def places_for(cores, memory_bytes):
    """How many programs run at a time on a machine: at most one a core and one every 4 GiB."""
    return max(PLACES_MIN, min(cores, memory_bytes // MEMORY_OF_A_PROGRAM))


def places():
    """places_for() this machine and this process's container. OSORA_TEST_PROGRAMS overrides it."""
    if asked := os.environ.get("OSORA_TEST_PROGRAMS"):
        if not asked.isdecimal() or int(asked) < 1:
            raise SystemExit(f"OSORA_TEST_PROGRAMS={asked}: not a number of programs; valid: 1, 2, "
                             "3, ...")
        return int(asked)
    cores = len(os.sched_getaffinity(0))
    quota, period = (limit_of("/sys/fs/cgroup/cpu.max", column) for column in (0, 1))
    if quota and period:
        cores = min(cores, quota // period)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return places_for(cores, min(memory, limit_of("/sys/fs/cgroup/memory.max") or memory))


def program_of(test):
    """A Program from ctest's JSON."""
    properties = {each["name"]: each["value"] for each in test.get("properties", [])}
    if unknown := set(properties) - KNOWN:
        raise SystemExit(f"run_tests: test {test['name']} has properties that run_tests does not "
                         f"know: {', '.join(sorted(unknown))}")
    return Program(
        name=test["name"], command=test.get("command", []),
        folder=properties.get("WORKING_DIRECTORY", "."),
        environment=dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", [])),
        time_limit_s=properties.get("TIMEOUT", 900),
        waits="waits" in properties.get("LABELS", []),
        alone=properties.get("RUN_SERIAL", False) or properties.get("PROCESSORS", 1) > 1,
        skip_code=properties.get("SKIP_RETURN_CODE"))


def list_programs(build, label):
    """The programs of a build folder that have this label."""
    listing = subprocess.run(["ctest", "--show-only=json-v1", "-L", f"^{label}$"], cwd=build,
                             check=True, stdout=subprocess.PIPE).stdout
    return [program_of(test) for test in json.loads(listing)["tests"]]


def descendants(process_id):
    """Process ids of the tree below a process, itself first."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    tree = [process_id]
    for each in tree:
        tree += children.get(each, [])
    return tree


def kill_tree(process_id):
    for each in descendants(process_id):
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Running:
    """One started program; its output goes to a file, so that no process can block it."""

    def __init__(self, program, log, settings):
        self.program, self.log, self.started = program, log, time.monotonic()
        self.process, self.why, self.cpu_seconds = None, "", 0.0
        if program.xml:
            program.xml.unlink(missing_ok=True)
        with open(log, "wb") as output:
            try:
                self.process = subprocess.Popen(
                    program.command or ["(no such program)"], cwd=program.folder,
                    env={**os.environ, "GTEST_COLOR": "no", **program.environment, **settings},
                    stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            except OSError as error:
                self.why = f"did not start: {error.strerror}: {error.filename}"

    def poll(self):
        """The Run, once it has ended; ends it when its time is over."""
        seconds = time.monotonic() - self.started
        if self.runs():
            if seconds < self.program.time_limit_s:
                return None
            self.kill()
            self.why = f"out of time: still running after {self.program.time_limit_s:g} s"
        code = None if self.why else self.process.returncode
        return Run(code, self.why or ending(code), seconds, self.log.read_text(errors="replace"),
                   self.cpu_seconds)

    def runs(self, flags=os.WNOHANG):
        """Whether it has not ended. Popen's wait does not say what CPU time the process took."""
        if self.process is None or self.process.returncode is not None:
            return False
        process_id, status, usage = os.wait4(self.process.pid, flags)
        if process_id == 0:
            return True
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        return False

    def kill(self):
        if self.runs():
            kill_tree(self.process.pid)
            self.runs(0)


def ending(code):
    if code >= 0:
        return f"exit code {code}"
    return f"crashed: {signal.Signals(-code).name}"


def may_start(program, running, at_a_time):
    """Whether a program may start beside `running` ones."""
    if program.alone or any(each.alone for each in running):
        return not running
    return sum(each.waits == program.waits for each in running) < at_a_time


def run_all(programs, log_of, times=None, settings=None, at_a_time=PLACES_MIN):
    """Yields (program, Run) as they end. Starts the longest first by `times` {name: seconds}, those
    without a time before all; where it may not start beside those that run, the next that may goes
    first. log_of(name): the path of its output. settings: environment over the program's.
    at_a_time: so many programs that compute, and so many that wait."""
    known = times or {}
    waiting = sorted(programs, key=lambda each: -known.get(each.name, float("inf")))
    running = []
    try:
        while waiting or running:
            beside = [each.program for each in running]
            chosen = next((each for each in waiting if may_start(each, beside, at_a_time)), None)
            if chosen:
                waiting.remove(chosen)
                running.append(Running(chosen, log_of(chosen.name), settings or {}))
                continue
            ended = [(each, run) for each in running if (run := each.poll())]
            for each, run in ended:
                running.remove(each)
                yield each.program, run
            if not ended:
                time.sleep(POLL_S)
    finally:
        for each in running:
            each.kill()
