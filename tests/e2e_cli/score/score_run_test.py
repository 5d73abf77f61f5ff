#!/usr/bin/env python3
"""A run of job = "score" on several ranks: its file is that of osora data score, whatever the
number of ranks, also after a kill; what the plan says; what is refused."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import clips_proxy
import run_kit
from run_kit import BIN

SKIPPED = 77
CLIPS = 12
RUN_FILE = """
[run]
name = "scores"
job = "score"
[resources]
gpus_per_node = {ranks}
cpus_per_worker = 1
[score]
output = "{output}"
scores = ["motion", "blur", "cuts", "brightness"]
frames = 4
[data]
manifest = "clips.csv"
"""

if shutil.which("ffmpeg") is None:
    print("no ffmpeg program to make clips with")
    sys.exit(SKIPPED)


def make_clips(folder):
    rows = "path,num_frames,height,width\n"
    for i in range(CLIPS):
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                        f"testsrc2=size=96x64:rate=12:duration={1 + i % 3},hue=h={30 * i}", "-c:v",
                        "libx264", "-pix_fmt", "yuv420p", str(folder / f"clip {i}.mp4")],
                       check=True)
        rows += f"clip {i}.mp4,{12 * (1 + i % 3)},64,96\n"
    (folder / "damaged.mp4").write_bytes(b"x" * 3000)
    (folder / "clips.csv").write_text(rows + "damaged.mp4,9,64,96\ngone.mp4,,,\n")


def osora(folder, *arguments, code=0):
    worker = folder / "worker"  # of kill_scoring_rank()
    chosen = worker if worker.exists() else BIN / "osora-worker"
    return run_kit.osora(folder, *arguments, code=code, OSORA_WORKER=str(chosen))


def write_run(folder, ranks, output, more=""):
    text = RUN_FILE.format(ranks=ranks, output=output)
    (folder / "score.toml").write_text(text.replace("[data]", more + "[data]"))


def check_report(report):
    """Ranks find the two bad clips in any order; the report shows the first text of a kind."""
    found = [each for each in report["notices"] if each["kind"] == "clip_skipped"]
    assert len(found) == 1 and found[0]["count"] == 2, report["notices"]
    assert "damaged.mp4" in found[0]["first"] or "gone.mp4" in found[0]["first"], found


def check_same_file(folder):
    osora(folder, "data", "score", "clips.csv", "--frames", "4", "--out", "alone.csv", code=1)
    wanted = (folder / "alone.csv").read_bytes()
    assert b"gone.mp4,,,,,,,4,0,0,missing: " in wanted, wanted
    for ranks in (1, 3):
        write_run(folder, ranks, f"of {ranks}.csv")
        said = osora(folder, "submit", "score.toml")
        assert "14/14 clips" in said, said
        assert (folder / f"of {ranks}.csv").read_bytes() == wanted
    check_report(json.loads(osora(folder, "report", "2", "--json")))
    clips_proxy.kill_scoring_rank(folder / "worker")
    write_run(folder, 2, "killed.csv")
    osora(folder, "submit", "score.toml")
    (folder / "worker").unlink()
    assert (folder / "killed.csv").read_bytes() == wanted
    shards = sorted(path.name for path in (folder / "state/runs/scores-0003/score").iterdir())
    assert "0-1.rows" in shards and "1-0.rows" in shards, shards


def check_plan_and_refusals(folder):
    write_run(folder, 2, "new.csv")
    said = osora(folder, "submit", "score.toml", "--dry-run")
    assert "14 clips" in said and "about" in said, said
    plan = json.loads(osora(folder, "plan", "score.toml", "--json"))
    assert plan["predicted"]["clips"] == 14 and plan["predicted"]["total_s"] > 0, plan
    write_run(folder, 2, "killed.csv")
    assert "killed.csv is there already" in osora(folder, "submit", "score.toml", code=2)
    write_run(folder, 2, "no/such.csv")
    assert "there is no folder" in osora(folder, "submit", "score.toml", code=2)
    write_run(folder, 2, "")
    assert "score.output" in osora(folder, "submit", "score.toml", code=2)
    write_run(folder, 2, "new.csv")
    said = osora(folder, "submit", "score.toml", "--set", 'score.scores=["moton"]', code=2)
    assert "motion" in said, said
    (folder / "clips.csv").unlink()
    assert "clips.csv" in osora(folder, "submit", "score.toml", code=2)
    assert not (folder / "new.csv").exists()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_clips(folder)
        check_same_file(folder)
        check_plan_and_refusals(folder)


main()
