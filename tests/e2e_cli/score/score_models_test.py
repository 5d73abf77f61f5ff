#!/usr/bin/env python3
"""Scores by TorchScript files: what the models get and the scores, against frames that the ffmpeg
program decodes; files that are refused; ranks and kills. Skipped where no Python with PyTorch is
found (OSORA_TEST_PYTHON names one)."""
import csv
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import clips_proxy
import run_kit
from run_kit import BIN, SOURCE

SKIPPED = 77
FRAMES = 50  # of each clip
# Runs in the Python that has PyTorch.
MODELS = """
import sys
import torch
from torch import Tensor, nn
class Aesthetic(nn.Module):
    # The square of a sum in which each colour has a weight: another order, another frame or another
    # range gives another mean.
    def forward(self, frames: Tensor) -> Tensor:
        assert frames.dtype == torch.float32 and list(frames.shape) == [3, 3, 224, 224]
        means = frames.mean(dim=[2, 3])
        return ((means[:, 0] + 10 * means[:, 1] + 100 * means[:, 2]) ** 2).unsqueeze(1)
class Twice(nn.Module):
    def forward(self, frames: Tensor, scale: float = 2.0) -> Tensor:
        return frames.mean(dim=[1, 2, 3]) * scale
class Undefined(nn.Module):  # of frames whose red is above a half
    def forward(self, frames: Tensor) -> Tensor:
        red = frames[:, 0].mean(dim=[1, 2])
        return torch.where(red > 0.5, red / 0 - red / 0, red)
class Field(nn.Module):
    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        assert list(first.shape) == [3, 3, 320, 576] and first.shape == second.shape
        return second[:, :2] - first[:, :2]
class Upper(nn.Module):  # mean of the upper half of the first frames
    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        return first[:, 0, :160].mean(dim=[1, 2])
class Pair(nn.Module):
    def forward(self, first: Tensor, second: Tensor):
        return first.mean(), second.mean()
class Whole(nn.Module):
    def forward(self, frames: Tensor) -> Tensor:
        return (frames.mean(dim=[1, 2, 3]) * 255).to(torch.int64)
class Narrow(nn.Module):
    def forward(self, frames: Tensor) -> Tensor:
        return frames.reshape(9, -1) @ torch.ones(7, 1)
class Named(nn.Module):
    def forward(self, frames: Tensor) -> Tensor:
        return frames.mean(dim=[2, 3])
class Nothing(nn.Module):
    pass
for kind in (Aesthetic, Twice, Undefined, Field, Upper, Pair, Whole, Narrow, Named, Nothing):
    torch.jit.script(kind()).save(sys.argv[1] + "/" + kind.__name__.lower() + ".pt")
"""
RUN_FILE = """
[run]
name = "scores"
job = "score"
[resources]
gpus_per_node = {ranks}
cpus_per_worker = 1
[score]
output = "{output}"
scores = ["motion"]
frames = 4
aesthetic = "aesthetic.pt"
flow = "field.pt"
[data]
manifest = "clips.csv"
[faults]
max_restarts = {restarts}
"""


def skip(reason):
    print(reason)
    sys.exit(SKIPPED)


def make_models(folder):
    program = folder / "models.py"  # TorchScript reads the source
    program.write_text(MODELS)
    venv = SOURCE / ".deps/venv/bin/python"
    for python in (os.environ.get("OSORA_TEST_PYTHON"), str(venv)):
        if not python or not os.path.exists(python):
            continue
        made = subprocess.run([python, "-W", "ignore", str(program), str(folder)],
                              capture_output=True, text=True, check=False)
        if made.returncode == 0:
            return
        assert "No module named 'torch'" in made.stderr, made.stderr
    skip("no Python with PyTorch")


def make_clips(folder):
    """Frames of one colour that changes with the frame; a portrait one is white at its left."""
    size = "s=224x224:r=25:d=2"
    small, large = "color=black:s=16x16:r=25:d=2", "scale=224:224:flags=neighbor"
    graphs = {"ramp.mp4": f"{small},geq=r=4*N:g=255-4*N:b=60,{large}",
              "ramp 2.mp4": f"{small},geq=r=100:g=2*N:b=4*N,{large}",
              "high.mp4": "color=black:s=180x320:r=25:d=2,drawbox=w=90:c=white:t=fill",
              "bright.mp4": f"color=white:{size}"}
    for name, graph in graphs.items():
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", graph, "-c:v",
                        "libx264", "-qp", "0", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
                        str(folder / name)], check=True)
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(folder / "ramp.mp4"),
                    "-frames:v", "1", str(folder / "image.png")], check=True)
    names = [*graphs, "image.png"]
    (folder / "clips.csv").write_text("path\n" + "".join(f"{name}\n" for name in names)
                                      + "gone.mp4\n")
    return names


def means_of(path):
    """Mean red, green and blue of each frame, 0 to 1, as the ffmpeg program decodes it."""
    raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-pix_fmt", "rgb24",
                          "-f", "rawvideo", "-"], check=True, stdout=subprocess.PIPE).stdout
    size = 224 * 224 * 3
    return [[sum(raw[at + colour:at + size:3]) / (size / 3 * 255) for colour in range(3)]
            for at in range(0, len(raw), size)]


def wanted_aesthetic(frames):
    chosen = [frames[int(point * len(frames))] for point in (0.1, 0.5, 0.9)]
    return sum((red + 10 * green + 100 * blue) ** 2 for red, green, blue in chosen) / 3


def wanted_flow(frames):
    chosen = [frames[index] for index in (0, 10, 20, 30)]
    return sum(abs(second[colour] - first[colour]) for first, second in zip(chosen, chosen[1:])
               for colour in range(2)) / 6


def near(found, wanted):
    return abs(float(found) - wanted) <= 0.02 * abs(wanted) + 0.004


def osora(folder, *arguments, code=0):
    worker = folder / "worker"  # of kill_scoring_rank()
    chosen = worker if worker.exists() else BIN / "osora-worker"
    return run_kit.osora(folder, *arguments, code=code, OSORA_WORKER=str(chosen),
                         CUDA_VISIBLE_DEVICES="")


def score(folder, *options, code=0):
    return osora(folder, "data", "score", "clips.csv", *options, code=code)


def rows_of(path):
    with open(path, newline="") as text:
        return list(csv.DictReader(text))


def hash_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def check_values(folder, names):
    score(folder, "--scores", "aesthetic", "--aesthetic", "aesthetic.pt", "--flow", "field.pt",
          code=1)  # of gone.mp4
    rows = rows_of(folder / "scores.csv")
    assert [row["path"] for row in rows] == [*names, "gone.mp4"], rows
    assert list(rows[0]) == ["path", "aesthetic", "aesthetic_model", "flow", "flow_model", "frames",
                             "size_bytes", "mtime_ns", "error"], rows[0]
    for row in rows[:2]:
        frames = means_of(folder / row["path"])
        assert len(frames) == FRAMES, len(frames)
        assert near(row["aesthetic"], wanted_aesthetic(frames)), (row, wanted_aesthetic(frames))
        assert near(row["flow"], wanted_flow(frames)), (row, wanted_flow(frames))
        assert float(row["flow"]) > 0.03, row
    for row in rows[:5]:
        assert row["aesthetic_model"] == hash_of(folder / "aesthetic.pt"), row
    image = rows[4]
    assert near(image["aesthetic"], wanted_aesthetic(means_of(folder / "image.png") * 3)), image
    assert (image["flow"], image["flow_model"], image["error"]) == ("", "", ""), image
    assert rows[5]["aesthetic_model"] == "" and rows[5]["error"].startswith("missing: "), rows[5]
    # A model with a default argument; scores of pairs; a portrait clip is mirrored, not squeezed.
    summary = json.loads(score(folder, "--scores", "blur", "--aesthetic", "twice.pt", "--flow",
                               "upper.pt", "--out", "other.csv", "--workers", "3", "--json",
                               code=1))
    assert set(summary["scores"]) == {"blur", "aesthetic", "flow"}, summary["scores"]
    rows = {row["path"]: row for row in rows_of(folder / "other.csv")}
    assert near(rows["bright.mp4"]["aesthetic"], 2), rows["bright.mp4"]
    assert near(rows["high.mp4"]["flow"], 1), rows["high.mp4"]


def check_no_number(folder):
    said = score(folder, "--scores", "brightness", "--aesthetic", "undefined.pt", "--out",
                 "undefined.csv", code=1)
    assert "aesthetic: the result is nan" in said, said
    rows = {row["path"]: row for row in rows_of(folder / "undefined.csv")}
    bright = rows["bright.mp4"]
    assert bright["aesthetic"] == "" and float(bright["brightness"]) > 0.9, bright
    assert bright["error"] == "model: aesthetic: the result is nan", bright
    assert near(rows["image.png"]["aesthetic"], 0), rows["image.png"]


def check_resume(folder):
    asked = ["--scores", "aesthetic", "--flow", "field.pt", "--resume", "--aesthetic"]
    whole = (folder / "scores.csv").read_bytes()
    assert "5 as before" in score(folder, *asked, "aesthetic.pt", code=1)
    assert (folder / "scores.csv").read_bytes() == whole
    said = score(folder, *asked, "twice.pt", code=2)
    assert "scores.csv: has scores of another model: aesthetic_model is" in said, said
    assert hash_of(folder / "twice.pt") in said and hash_of(folder / "aesthetic.pt") in said, said
    assert (folder / "scores.csv").read_bytes() == whole
    assert not (folder / "scores.csv.part").exists()


def check_refusals(folder):
    (folder / "text.pt").write_text("no model\n")
    good = (folder / "aesthetic.pt").read_bytes()
    (folder / "cut.pt").write_bytes(good[:len(good) // 2])
    for option, file, reason in (
            ("--aesthetic", "none.pt", "No such file"),
            ("--aesthetic", ".", "Is a directory"),
            ("--aesthetic", "text.pt", "no TorchScript file that can be read: "),
            ("--aesthetic", "cut.pt", "no TorchScript file that can be read: "),
            ("--aesthetic", "field.pt", "its forward takes (first, second), not one tensor"),
            ("--flow", "named.pt", "its forward takes (frames), not two tensors"),
            ("--flow", "pair.pt", "its forward returns Tuple, not a tensor"),
            ("--aesthetic", "whole.pt", "its forward returns Long [3], not floats of [3], [3, 1]"),
            ("--aesthetic", "named.pt", "its forward returns Float [3, 3], not floats of [3]"),
            ("--aesthetic", "narrow.pt", "its forward failed: "),
            ("--aesthetic", "nothing.pt", "has no forward()")):
        said = score(folder, option, file, "--out", "new.csv", code=2)
        assert f"{option[2:]}: " in said and file in said and reason in said, (file, said)
    assert "--scores flow: needs a TorchScript file: --flow FILE" in score(
        folder, "--scores", "flow", "--out", "new.csv", code=2)
    assert not list(folder.glob("new.csv*")), list(folder.glob("new.csv*"))


def write_run(folder, ranks, output, restarts=3):
    text = RUN_FILE.format(ranks=ranks, output=output, restarts=restarts)
    (folder / "score.toml").write_text(text)


def check_runs(folder):
    score(folder, "--scores", "motion", "--aesthetic", "aesthetic.pt", "--flow", "field.pt",
          "--frames", "4", "--out", "alone.csv", code=1)
    wanted = (folder / "alone.csv").read_bytes()
    write_run(folder, 3, "three.csv")
    plan = json.loads(osora(folder, "plan", "score.toml", "--json"))
    assert plan["predicted"]["clips"] == 6 and plan["predicted"]["total_s"] == 0, plan["predicted"]
    osora(folder, "submit", "score.toml")
    assert (folder / "three.csv").read_bytes() == wanted
    said = osora(folder, "history", "sql",
                 "SELECT value FROM fp_item WHERE key='aesthetic_model'")
    assert f"sha256 {hash_of(folder / 'aesthetic.pt')}, cpu" in said, said
    clips_proxy.kill_scoring_rank(folder / "worker")
    write_run(folder, 2, "killed.csv")
    osora(folder, "submit", "score.toml")
    assert (folder / "killed.csv").read_bytes() == wanted
    shards = folder / "state/runs/scores-0002/score"
    assert {"0-1.rows", "1-0.rows"} <= {path.name for path in shards.iterdir()}, shards
    # A run that ended early does not go on with another model.
    write_run(folder, 2, "mixed.csv", restarts=0)
    osora(folder, "submit", "score.toml", code=1)
    (folder / "worker").unlink()
    model = (folder / "aesthetic.pt").read_bytes()
    shutil.copy(folder / "twice.pt", folder / "aesthetic.pt")
    said = osora(folder, "resume", "3", code=1)
    assert "has rows of other models" in said, said
    assert not (folder / "mixed.csv").exists()
    (folder / "aesthetic.pt").write_bytes(model)
    osora(folder, "resume", "3")
    assert (folder / "mixed.csv").read_bytes() == wanted
    # What is wrong with the file is said before any rank starts, or before the first clip.
    write_run(folder, 2, "new.csv")
    said = osora(folder, "submit", "score.toml", "--set", 'score.flow="none.pt"', code=2)
    assert "score.flow" in said and "no such file" in said, said
    said = osora(folder, "submit", "score.toml", "--set", 'score.flow=""', "--set",
                 'score.scores=["flow"]', code=2)
    assert "flow needs a TorchScript file" in said, said
    said = osora(folder, "submit", "score.toml", "--set", 'score.flow="named.pt"', code=1)
    assert "named.pt: its forward takes (frames), not two tensors" in said, said
    assert not (folder / "new.csv").exists()


def main():
    if shutil.which("ffmpeg") is None:
        skip("no ffmpeg program to make clips with")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_models(folder)
        names = make_clips(folder)
        check_values(folder, names)
        check_no_number(folder)
        check_resume(folder)
        check_refusals(folder)
        check_runs(folder)


main()
