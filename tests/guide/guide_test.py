#!/usr/bin/env python3
"""Every fenced block of docs/guide is tried: commands run in a shell, in the order of
their page, on clips and runs made here; parts of run files are read by osora validate; queries run
on the history; a text that osora prints occurs in the test that is named for it.
NOT_RUN has the commands that are not run, and why.
usage: guide_test.py gate|soak       gate: with the mock worker; soak: what trains for real"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from guide_blocks import blocks_of, run_file_with

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e_cli"))
from run_kit import BIN, PATIENCE_S, SOURCE, environment, run_file  # noqa: E402

CLIPS = SOURCE / ".deps/clips"
REAL_PAGES = ["autoencoders.md", "cache.md", "models.md"]  # whose commands the soak tier runs
# Names and numbers of a page, and what they are here.
HERE = [
    (r"\b41\b", "1"), (r"\b42\b", "2"), (r"sample 12\b", "sample 1"), (r"\b360p:51\b", "32:4"),
    (r"cats/a\.mp4", ".deps/clips/bigbuckbunny_00.mp4"), (r"--clip 17\b", "--clip 3"),
    (r"RUN_DIR/", "state/runs/demo-0001/"), (r"--embeddings \S+ --cfg-scale 4 ", ""),
]
# Commands that end with another code than 0 on the runs made here, and the code.
CODES = {"osora detect": 3, "osora report --series": 3}  # too few runs
# Commands that are not run here, and the file that runs them, or what they would need.
NOT_RUN = {
    "osora dashboard": "tests/e2e_cli/dashboard_test.py",
    "ssh -L": "another machine",
    "openssl rand": "another program",
    "curl -N": "tests/e2e_cli/dashboard_test.py",
    "curl -s": "tests/e2e_cli/metrics_test.py",
    "apt-get install": "tests/scripts/package_test",
    "osora-fetch-torch": "tests/scripts/package_test",
    "osora --help": "tests/e2e_cli/usage_test.cpp",
    "tar --zstd": "tests/scripts/package_test",
    "module ": "a cluster's modules",
    "bench/launch/side_by_side.py": "65 minutes",
    "osora bisect": "tests/e2e_cli/bisect_commits_test.cpp",
    "osora data score clips.csv --scores aesthetic": "tests/e2e_cli/score/score_models_test.py",
    "osora model merge": "tests/e2e_worker/model_test.cpp",
}
# What osora prints, by a phrase of the block: a test that has the phrase.
PRINTED = {
    "GiB a rank with ": "tests/unit/plan/autoencoder/autoencoder_plan_test.cpp",
    "· Ctrl-C ends it": "tests/e2e_cli/dashboard_test.py",
    'osora.dashboard/1': "tests/e2e_cli/dashboard_test.py",
    "event: run": "tests/e2e_cli/dashboard_test.py",
    "# TYPE osora_step gauge": "tests/data/metrics/run.openmetrics",
    "osora-fetch-torch": "tests/scripts/package_worker_test",
    "the run has no metrics: [daemon] metrics": "tests/e2e_cli/metrics_test.py",
    "input-bound": "tests/unit",
    "13.1 % exposed": "tests/unit/cli/plan/plan_text_test.cpp",
    "ranks train one bucket in a step": "tests/unit/plan/planner_batches_test.cpp",
    "notification failed: webhook": "tests/e2e_cli/notify_test.cpp",
}
OTHER = {"yaml": "Prometheus' file", "python": "Open-Sora's package, CLIP's"}


class Problems(list):
    def add(self, block, text):
        self.append(f"{block.place}: {text}")


def here(text):
    for pattern, value in HERE:
        text = re.sub(pattern, value, text)
    return text


def shell(folder, line, **more):
    """(exit code, output) of one line of a page."""
    variables = environment(folder, PYTHONDONTWRITEBYTECODE="1", **more)
    variables["PATH"] = f"{BIN}:{variables['PATH']}"
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=variables, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20 * PATIENCE_S,
                          check=False)
    return done.returncode, done.stdout


def must(folder, line):
    code, text = shell(folder, line)
    assert code == 0, (line, code, text)
    return text


def mlperf_log(batch, began_ms):
    """A log of 640 steps of which every tenth is logged."""
    lines, now = [], began_ms

    def event(key, value, step):
        lines.append(f'0: :::MLLOG {{"time_ms": {now}, "key": "{key}", "value": {value}, '
                     f'"metadata": {{"step": {step}}}}}')
    event("submission_benchmark", '"flux1"', 0)
    event("global_batch_size", batch, 0)
    event("run_start", "null", 0)
    for step in range(10, 641, 10):
        now += 5000
        event("tracked_stats", f'{{"train_loss": {100 / step}}}', step)
    event("run_stop", "null", 640)
    return "\n".join(lines) + "\n"


def make_scene(folder):
    """Files that pages name: the list of clips, run files, examples."""
    (folder / ".deps").mkdir()
    (folder / ".deps/clips").symlink_to(CLIPS)
    shutil.copytree(SOURCE / "examples", folder / "examples")
    header, *rows = (CLIPS / "clips.csv").read_text().splitlines()
    (folder / "clips.csv").write_text(
        "\n".join([header] + [f".deps/clips/{row}" for row in rows]) + "\n")
    for name in ("run", "stage1"):
        text = run_file(12).replace('"demo"', f'"{name}"')
        (folder / f"{name}.toml").write_text(text)


def make_history(folder):
    """Two runs, a query, and logs of other programs for the page on the history."""
    for _ in range(2):
        must(folder, "osora submit stage1.toml")
    (folder / "query.sql").write_text("SELECT run FROM v_run")
    (folder / "result_0.txt").write_text(mlperf_log(256, 1_759_500_000_000))
    other = folder / "Oracle/results/2xBM.GPU.B200.8/flux1/result_0.txt"
    other.parent.mkdir(parents=True)
    other.write_text(mlperf_log(512, 1_759_506_227_000))  # 2025-10-03 15:43:47 UTC
    (folder / "log").write_text(mlperf_log(512, 1_759_522_512_000))  # 20:15:12
    must(folder, "osora history import log")


def make_values(folder):
    """A series of two runs and a file of values for the page on regressions."""
    for _ in range(2):
        must(folder, "osora submit stage1.toml")
    (folder / "steps.csv").write_text("1\n1.1\n1\n")


def make_topology(folder):
    must(folder, 'osora topology import "synthetic:leaf:2 node:4 gpu:8 nic:8 model:h100" '
                 ">cluster.json")


def make_run(folder):
    must(folder, "osora submit stage1.toml")


SCENES = {"history.md": make_history, "regressions.md": make_values, "training.md": make_topology,
          "operations.md": make_run}


def listed(line, table):
    return next((key for key in table if line.startswith(key)), None)


def run_commands(block, folder, problems, used, **more):
    for line in block.commands():
        if key := listed(line, NOT_RUN):
            used.add(key)
            continue
        code, text = shell(folder, here(line), **more)
        key = listed(line, CODES)
        used.add(key)
        if code != CODES.get(key, 0):
            problems.add(block, f"{here(line)}\nended with {code}:\n{text}")


def check_part(block, folder, problems):
    """osora validate finds nothing wrong but files that are not there."""
    (folder / "part.toml").write_text(run_file_with(block.text))
    code, text = shell(folder, "osora validate part.toml")
    wrong = [line for line in text.splitlines()
             if code and not re.search(r"no such (file|folder)|^\d+ errors?$", line)]
    if wrong:
        problems.add(block, "\n".join(wrong))


def check_query(block, folder, problems):
    done = subprocess.run([BIN / "osora", "history", "sql", "-"], input=here(block.text),
                          cwd=folder, env=environment(folder), capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    if done.returncode:
        problems.add(block, done.stderr)


def check_printed(block, problems, used):
    """A test has the phrase of the block that is named for it."""
    text = re.sub(r"\s+", " ", block.text)
    phrases = [phrase for phrase in PRINTED if phrase in text]
    used.update(phrases)
    if not phrases:
        problems.add(block, "no test is named for what it shows")
    for phrase in phrases:
        place = SOURCE / PRINTED[phrase]
        files = [place] if place.is_file() else [
            file for file in place.rglob("*") if file.suffix in (".cpp", ".py")
            and "guide" not in file.parts]
        # A test may write the phrase as several string literals.
        if not any(phrase.replace('"', "") in re.sub(r'"\s*\n\s*"|\\?"', "", file.read_text())
                   for file in files):
            problems.add(block, f"{PRINTED[phrase]} does not have: {phrase}")


def check_page(page, folder, problems, used):
    make_scene(folder)
    SCENES.get(page.name, lambda _: None)(folder)
    for block in blocks_of(page):
        if block.language == "":
            if page.name not in REAL_PAGES:
                run_commands(block, folder, problems, used)
        elif block.language == "toml":
            check_part(block, folder, problems)
        elif block.language == "sql":
            check_query(block, folder, problems)
        elif block.language == "text":
            check_printed(block, problems, used)
        elif block.language not in OTHER:
            problems.add(block, f"a block of {block.language!r} is not checked")


def gate(problems):
    used = set()
    for page in sorted((SOURCE / "docs/guide").glob("*.md")):
        with tempfile.TemporaryDirectory() as name:
            check_page(page, Path(name), problems, used)
    stale = {*NOT_RUN, *CODES, *PRINTED} - used
    gone = [place for place in {*NOT_RUN.values(), *PRINTED.values()}
            if "/" in place and not (SOURCE / place).exists()]
    problems += [f"guide_test.py names {place}, which does not exist" for place in gone]
    listed_pages = (SOURCE / "docs/index.md").read_text().split()
    problems += [f"docs/index.md does not list guide/{page.stem}"
                 for page in sorted((SOURCE / "docs/guide").glob("*.md"))
                 if f"guide/{page.stem}" not in listed_pages]
    problems += [f"guide_test.py names {key!r}, which no page has" for key in sorted(stale)]


def soak(problems):
    """The pages whose commands train, with the real worker, then the other examples."""
    real = {"OSORA_WORKER": str(BIN / "osora-worker")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_scene(folder)
        code, text = shell(folder, "osora submit examples/demo.toml", **real)
        assert code == 0, text
        for page in REAL_PAGES:
            for block in blocks_of(SOURCE / "docs/guide" / page):
                if block.language == "":
                    run_commands(block, folder, problems, set(), **real)
        for example in sorted((folder / "examples").glob("*.toml")):
            if "osora submit examples/" + example.name in text_of_pages(REAL_PAGES):
                continue
            command = "validate" if 'backend = "s' in example.read_text() else "submit"
            code, text = shell(folder, f"osora {command} examples/{example.name}", **real)
            if code:
                problems.append(f"examples/{example.name}: ended with {code}:\n{text}")


def text_of_pages(names):
    return "".join((SOURCE / "docs/guide" / name).read_text() for name in names)


def main():
    if sys.argv[1:] not in (["gate"], ["soak"]):
        sys.exit(__doc__)
    if not (CLIPS / "clips.csv").exists():
        print(f"no clips in {CLIPS}: scripts/bootstrap makes them")
        sys.exit(77)
    problems = Problems()
    (gate if sys.argv[1] == "gate" else soak)(problems)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
