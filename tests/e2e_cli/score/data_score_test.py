#!/usr/bin/env python3
"""osora data score against numpy on the frames that the ffmpeg program decodes, and what --resume
keeps. Skipped where Python has no numpy (OSORA_TEST_PYTHON names one that has)."""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
HEIGHT, WIDTH, FRAMES = 256, 384, 8
OSORA = str(pathlib.Path(os.environ["OSORA_BIN_DIR"]) / "osora")


def skip(reason):
    print(reason)
    sys.exit(SKIPPED)


try:
    import numpy
except ImportError as error:
    chosen = os.environ.pop("OSORA_TEST_PYTHON", None)
    if chosen:
        os.execv(chosen, [chosen, *sys.argv])
    skip(f"no numpy for this Python: {error}")
if shutil.which("ffmpeg") is None:
    skip("no ffmpeg program to make clips with")


def make(folder, name, graph):
    """Lossless: the same frames for both programs."""
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", graph, "-c:v",
                    "libx264", "-qp", "0", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
                    str(folder / name)], check=True)


def sampled_luma(path):
    """(FRAMES, HEIGHT, WIDTH) of the frames that the guide says are sampled."""
    decode = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-pix_fmt", "rgb24", "-f",
              "rawvideo", "-"]
    raw = subprocess.run(decode, check=True, stdout=subprocess.PIPE).stdout
    frames = numpy.frombuffer(raw, numpy.uint8).reshape(-1, HEIGHT, WIDTH, 3).astype(float)
    stride = (len(frames) - 1) // (FRAMES - 1)
    start = (len(frames) - 1 - stride * (FRAMES - 1)) // 2
    return numpy.round(frames[start::stride][:FRAMES] @ [0.299, 0.587, 0.114])


def expected(path):
    luma = sampled_luma(path)
    laplacian = (luma[:, :-2, 1:-1] + luma[:, 2:, 1:-1] + luma[:, 1:-1, :-2] + luma[:, 1:-1, 2:]
                 - 4 * luma[:, 1:-1, 1:-1])
    return {"motion": numpy.abs(numpy.diff(luma, axis=0)).mean() / 255,
            "blur": laplacian.reshape(FRAMES, -1).var(axis=1).mean(),
            "brightness": luma.mean() / 255,
            "black": ((luma < 32).reshape(FRAMES, -1).mean(axis=1) >= 0.98).mean()}


def score(folder, *options, code=0):
    ended = subprocess.run([OSORA, "data", "score", "clips.csv", "--frames", str(FRAMES), "--json",
                            *options], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == code, (options, ended.returncode, ended.stdout, ended.stderr)
    return json.loads(ended.stdout) if ended.stdout else ended.stderr


def rows_of(path):
    with open(path, newline="") as text:
        return list(csv.DictReader(text))


def near(found, wanted, share):
    return abs(found - wanted) <= share * abs(wanted) + 1e-6


def make_clips(folder):
    grey = f"testsrc2=size={WIDTH}x{HEIGHT}:rate=25:duration=2,hue=s=0"
    colour = f"s={WIDTH}x{HEIGHT}:r=25"
    make(folder, "sharp.mp4", grey)
    make(folder, "blurred.mp4", grey + ",boxblur=3")
    make(folder, "still.mp4", f"smptebars=size={WIDTH}x{HEIGHT}:rate=25:duration=1")
    make(folder, "dark.mp4", f"color=black:{colour}:d=1[a];color=white:{colour}:d=1[b];"
                             "[a][b]concat")
    make(folder, "cut.mp4", f"color=red:{colour}:d=1.2[a];color=blue:{colour}:d=0.44[b];"
                            f"color=red:{colour}:d=0.4[c];[a][b][c]concat=n=3")
    # A cut between the frames that are decoded together.
    make(folder, "late.mp4", "color=red:s=64x64:r=25:d=10.24[a];color=green:s=64x64:r=25:d=0.4[b];"
                             "[a][b]concat")
    names = ["sharp", "blurred", "still", "dark", "cut", "late"]
    (folder / "clips.csv").write_text("path\n" + "".join(f"{name}.mp4\n" for name in names))
    return names


def check_values(folder, names):
    summary = score(folder)
    assert summary["schema"] == "osora.data_score/1" and summary["scored"] == len(names), summary
    rows = {row["path"].removesuffix(".mp4"): row for row in rows_of(folder / "scores.csv")}
    assert list(rows) == names, rows
    for name in names[:5]:
        for column, wanted in expected(folder / f"{name}.mp4").items():
            # Another conversion to RGB: one step of a grey at most.
            assert near(float(rows[name][column]), wanted, 0.02), (name, column, rows[name], wanted)
    assert float(rows["still"]["motion"]) == 0, rows["still"]
    assert float(rows["sharp"]["blur"]) > 4 * float(rows["blurred"]["blur"]) > 0, rows
    assert float(rows["dark"]["black"]) == 0.5, rows["dark"]
    cuts = {name: (row["cuts"], row["cut_frames"]) for name, row in rows.items()}
    assert cuts == {"sharp": ("0", ""), "blurred": ("0", ""), "still": ("0", ""),
                    "dark": ("1", "25"), "cut": ("2", "30 41"), "late": ("1", "256")}, cuts


def check_resume(folder, names):
    whole = (folder / "scores.csv").read_text()
    assert "is there already" in score(folder, code=2)
    kept = score(folder, "--resume")
    assert (kept["kept"], kept["scored"]) == (len(names), 0), kept
    assert (folder / "scores.csv").read_text() == whole
    # A run that was killed in the middle of a line.
    (folder / "scores.csv").rename(folder / "scores.csv.part")
    (folder / "scores.csv.part").write_text(whole[:whole.rindex("late") + 9])
    assert ".part is of a run that was stopped" in score(folder, code=2)
    for workers in ("0", "3"):
        rest = score(folder, "--resume", "--workers", workers)
        assert (rest["kept"], rest["scored"]) in ((5, 1), (6, 0)), rest
        assert (folder / "scores.csv").read_text() == whole
        assert not (folder / "scores.csv.part").exists()
    # A clip that has changed, and one that is damaged now.
    shutil.copy(folder / "blurred.mp4", folder / "sharp.mp4")
    (folder / "cut.mp4").write_bytes(b"")
    last = score(folder, "--resume", code=1)
    assert (last["kept"], last["scored"]) == (4, 1), last
    assert [(each["path"], each["kind"]) for each in last["damaged"]] == [("cut.mp4", "empty")]
    rows = rows_of(folder / "scores.csv")
    assert rows[0]["blur"] == rows[1]["blur"] and rows[4]["cuts"] == "", rows
    assert rows[4]["error"].startswith("empty: ") and rows[0]["error"] == "", rows
    assert "its columns are not path,motion,frames" in score(
        folder, "--resume", "--scores", "motion", code=2)
    assert score(folder, "--force", "--scores", "motion,blur", code=1)["scored"] == 5


def check_refusals(folder):
    new = "--out=new.csv"
    assert "--scores flow: needs a TorchScript file: --flow FILE" in score(
        folder, new, "--scores", "blur,flow", code=2)
    assert "did you mean motion?" in score(folder, new, "--scores", "moton", code=2)
    assert "unknown" in score(folder, new, "--scores", "", code=2)
    assert "there is no folder" in score(folder, "--out", "no/such.csv", code=2)
    assert "is the manifest itself" in score(folder, "--out", "clips.csv", "--force", code=2)
    assert "give one of them" in score(folder, new, "--force", "--resume", code=2)
    assert not (folder / "new.csv").exists() and not (folder / "new.csv.part").exists()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        names = make_clips(folder)
        check_values(folder, names)
        check_resume(folder, names)
        check_refusals(folder)


main()
