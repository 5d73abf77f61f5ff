"""Counts the cases of test programs and prints them. Driven by run_tests. A GoogleTest program
counts case by case, from the XML it writes; any other program is one case, skipped by exit code 77
with the reason on its last line. A program that ends without its XML is one failed case."""
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

OUTPUT_SHOWN = 80  # lines of a failed program


@dataclass
class Tally:
    passed: int = 0
    failures: list = field(default_factory=list)  # (case, message)
    skips: list = field(default_factory=list)  # (case, reason)

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips


def tail(text):
    lines = text.splitlines()
    cut = [f"... {len(lines) - OUTPUT_SHOWN} lines above"] if len(lines) > OUTPUT_SHOWN else []
    return "\n".join(cut + lines[-OUTPUT_SHOWN:])


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def tally_gtest(name, xml, run):
    """Cases of a GoogleTest program. run: test_programs.Run."""
    tally = Tally()
    try:
        cases = list(ElementTree.parse(xml).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        why = f"ended without a result: {run.ending}\n"
        return Tally(failures=[(name, why + tail(run.output))])
    for case in cases:
        label = f"{name}: {case.get('classname')}.{case.get('name')}"
        failures = [node.get("message") or "" for node in case.iter("failure")]
        if failures:
            tally.failures.append((label, "\n".join(failures)))
        elif case.get("result") == "skipped":
            messages = [node.get("message") or "" for node in case.iter("skipped")]
            tally.skips.append((label, last_line("\n".join(messages)) or "no reason given"))
        elif case.get("status") == "notrun":
            tally.skips.append((label, "disabled in the source"))
        else:
            tally.passed += 1
    if not cases:
        tally.failures.append((name, "ran no case"))
    if run.code != 0 and not tally.failures:
        why = f"every case passed, yet the program failed: {run.ending}\n"
        tally.failures.append((name, why + tail(run.output)))
    return tally


def tally_of(program, run):
    """The cases of one run of a program. program: test_programs.Program."""
    if program.xml and run.code is not None:
        return tally_gtest(program.name, program.xml, run)
    if run.code == 0:
        return Tally(passed=1)
    if run.code is not None and run.code == program.skip_code:
        return Tally(skips=[(program.name, last_line(run.output) or "no reason given")])
    text = "\n".join(filter(None, [tail(run.output), run.ending]))
    return Tally(failures=[(program.name, text)])


def short(seconds):
    """95 -> "1 min 35 s"."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def print_failures(tally):
    for case, message in tally.failures:
        print(f"\nFAILED {case}\n{message}")


def print_skips(tally):
    if tally.skips:
        print("\nSkipped:")
        for case, reason in tally.skips:
            print(f"  {case}: {reason}")


def print_counts(tally):
    """The last line; the exit code."""
    nothing = tally.passed == 0 and not tally.failures
    if nothing:
        print("no test passed or failed: nothing was tested")
    print(f"\n{tally.passed} passed, {len(tally.failures)} failed, {len(tally.skips)} skipped")
    return 1 if tally.failures or nothing else 0
