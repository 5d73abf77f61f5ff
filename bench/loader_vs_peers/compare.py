#!/usr/bin/env python3
"""CPU time per clip of osora data bench and of peers (torchcodec, decord, PyAV) on the same frames.

usage: bench/loader_vs_peers/compare.py FOLDER [--clips osora-clips] [--python PYTHON] [--rounds N]

Makes four 1080p clips in FOLDER with the ffmpeg program (once): H.264 with keyframes every 250 and
every 30 frames, HEVC, AV1. Reads 16 frames, stride 3, to 640x360 from several starts, the file
opened for each clip, one thread. Programs take turns; the least CPU time of the rounds counts.
osora's figure holds its whole process, peers' neither their start nor their first clip. PYTHON has
the peers that it has; others are left out."""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FRAMES, STRIDE, WIDTH, HEIGHT, REPEATS = 16, 3, 640, 360, 8
STARTS = (20, 95, 170, 245)
SOURCE = "testsrc2=size=1920x1080:rate=30:duration=10,noise=alls=8:allf=t:all_seed=7"
CLIPS = {
    "h264_long": ["libx264", "-preset", "veryfast", "-b:v", "6M", "-g", "250"],
    "h264_short": ["libx264", "-preset", "veryfast", "-b:v", "6M", "-g", "30"],
    "hevc": ["libx265", "-preset", "superfast", "-b:v", "4M", "-tag:v", "hvc1", "-x265-params",
             "log-level=none:keyint=250"],
    "av1": ["libsvtav1", "-preset", "11", "-b:v", "3M", "-g", "240"],
}
PEERS = ("torchcodec exact", "torchcodec approximate", "decord", "PyAV")


def make_clips(folder):
    for name, encoder in CLIPS.items():
        path = folder / f"{name}.mp4"
        if not path.exists():
            part = folder / f"{name}.part.mp4"
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", SOURCE,
                            "-pix_fmt", "yuv420p", "-c:v", *encoder, str(part)], check=True)
            part.rename(path)
        rows = "".join(f"{name}.mp4,300,1080,1920,30\n" for _ in range(REPEATS))
        (folder / f"{name}.csv").write_text("path,num_frames,height,width,fps\n" + rows)


def run_osora(program, folder, name, start):
    request = {"manifest": str(folder / f"{name}.csv"), "num_frames": FRAMES, "stride": STRIDE,
               "start": start, "width": WIDTH, "height": HEIGHT, "workers": 0}
    done = subprocess.run([program, "bench", json.dumps(request)], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def run_peer(python, peer, folder, name, start):
    """None: not there, or it cannot read the file."""
    request = {"peer": peer, "path": str(folder / f"{name}.mp4"), "frames": FRAMES,
               "stride": STRIDE, "start": start, "width": WIDTH, "height": HEIGHT,
               "repeats": REPEATS}
    done = subprocess.run([python, str(HERE / "peers.py"), json.dumps(request)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 0:
        return json.loads(done.stdout)
    print(f"{peer}, {name}: {done.stderr.decode().strip().splitlines()[-1]}", file=sys.stderr)
    return None


def measure(arguments, name):
    """{program: CPU seconds per clip}: mean over starts of the least of the rounds."""
    least, left_out = {}, set()
    for _ in range(arguments.rounds):
        for start in STARTS:
            for program in ("osora", *PEERS):
                if program == "osora":
                    found = run_osora(arguments.clips, arguments.folder, name, start)
                elif program not in left_out:
                    found = run_peer(arguments.python, program, arguments.folder, name, start)
                if program in left_out or found is None:
                    left_out.add(program)
                    continue
                key = program, start
                least[key] = min(least.get(key, 1e9), found["cpu_s_per_clip"])
    return {program: sum(least[program, start] for start in STARTS) / len(STARTS)
            for program in ("osora", *PEERS) if program not in left_out}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--clips", default=str(HERE.parents[1] / "build/bin/osora-clips"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    make_clips(arguments.folder)
    print(f"{'CPU ms a clip':<24}" + "".join(f"{name:>14}" for name in CLIPS))
    table = {name: measure(arguments, name) for name in CLIPS}
    for program in ("osora", *PEERS):
        cells = [table[name].get(program) for name in CLIPS]
        print(f"{program:<24}" + "".join(
            f"{'-' if cell is None else format(1e3 * cell, '.0f'):>14}" for cell in cells))
    best = {name: min((v for k, v in table[name].items() if k.startswith("torchcodec")),
                      default=None) for name in CLIPS}
    print(f"{'osora / best torchcodec':<24}" + "".join(
        f"{'-' if best[n] is None else format(table[n]['osora'] / best[n], '.2f'):>14}"
        for n in CLIPS))


if __name__ == "__main__":
    main()
