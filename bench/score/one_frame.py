#!/usr/bin/env python3
"""CPU time of scoring one frame of a film against decoding all of it: osora data score, --frames 1
on one thread, and with cuts, which decodes every frame. Prints JSON; exit code 1 below --target.

example: bench/score/one_frame.py build/bin/osora --seconds 120 --size 1280x720"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile


def cpu_s(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osora")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--gop", default="250", help="frames between keyframes")
    parser.add_argument("--target", type=float, default=10)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = f"testsrc2=size={asked.size}:rate=25:duration={asked.seconds}"
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", source, "-c:v",
                        "libx264", "-preset", "veryfast", "-g", asked.gop, "-pix_fmt", "yuv420p",
                        str(folder / "film.mp4")], check=True)
        (folder / "clips.csv").write_text("path\nfilm.mp4\n")
        score = [asked.osora, "data", "score", str(folder / "clips.csv"), "--workers", "0",
                 "--force", "--out", str(folder / "scores.csv")]
        one = cpu_s([*score, "--scores", "brightness", "--frames", "1"])
        whole = cpu_s([*score, "--scores", "cuts"])
        film = cpu_s(["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-i",
                      str(folder / "film.mp4"), "-f", "null", "-"])
    times = {"one_frame_cpu_s": one, "all_frames_cpu_s": whole, "ffmpeg_cpu_s": film,
             "ratio": film / one}
    print(json.dumps({key: round(value, 3) for key, value in times.items()}))
    return 0 if times["ratio"] >= asked.target else 1


sys.exit(main())
