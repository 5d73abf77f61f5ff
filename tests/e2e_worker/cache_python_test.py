#!/usr/bin/env python3
"""Python reads what the encode job writes: shards by safetensors, the list by csv, captions by
their hash. Skipped where Python has no safetensors (OSORA_TEST_PYTHON names one that has)."""
import csv
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def skip(reason):
    print(reason)
    sys.exit(SKIPPED)


try:
    from safetensors.numpy import load_file
    from safetensors import safe_open
except ImportError as error:
    chosen = os.environ.pop("OSORA_TEST_PYTHON", None)
    if chosen:
        os.execv(chosen, [chosen, *sys.argv])
    skip(f"no safetensors for this Python: {error}")
if shutil.which("ffmpeg") is None:
    skip("no ffmpeg program to make clips with")


def caption_hash(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def encode(worker, folder, captions):
    rows = ["path,text"]
    for number, text in enumerate(captions):
        name = f"{number}.mp4"
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                        f"testsrc2=size=64x64:rate=12:duration=1,hue=h={40 * number}",
                        "-pix_fmt", "yuv420p", str(folder / name)], check=True)
        rows.append(f'{name},"{text}"')
    (folder / "clips.csv").write_text("\n".join(rows) + "\n")
    (folder / "run").mkdir()
    job = {"run_dir": str(folder / "run"), "base_dir": str(folder),
           "config": {"run": {"job": "encode"}, "vae": {"arch": "tiny"},
                      "encode": {"out": "cache"},
                      "data": {"manifest": "clips.csv", "host_memory_gib": 1},
                      "bucket": [{"resolution": "64", "num_frames": 8}]}}
    (folder / "run" / "job.json").write_text(json.dumps(job))
    subprocess.run([worker, "--job", str(folder / "run" / "job.json")], check=True,
                   stdout=subprocess.DEVNULL)


def main():
    captions = ["a cat", "", "two, with a comma"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        encode(str(pathlib.Path(os.environ["OSORA_BIN_DIR"]) / "osora-worker"), folder, captions)
        index = json.loads((folder / "cache" / "index.json").read_text())
        assert index["version"] == 1 and index["latents"]["channels"] == 4, index
        seen = []
        for shard in index["latent_shards"]:
            path = folder / "cache" / shard["file"]
            tensors = load_file(path)
            assert tensors["mean"].shape == (shard["clips"], 4, 2, 8, 8), tensors["mean"].shape
            assert tensors["std"].shape == tensors["mean"].shape and (tensors["std"] > 0).all()
            with safe_open(path, "np") as opened:
                assert (opened.get_slice("mean")[0] == tensors["mean"][0]).all()
            with open(path.with_suffix(".csv"), newline="") as text:
                rows = list(csv.DictReader(text))
            assert [caption_hash(row["text"]) for row in rows] == tensors["caption"].tolist()
            seen += [row["text"] for row in rows]
        assert sorted(seen) == sorted(captions), seen


main()
