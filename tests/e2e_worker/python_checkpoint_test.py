#!/usr/bin/env python3
"""A checkpoint of a run in Python: safetensors.torch.load_file gives the names and shapes of
Open-Sora's network, a PyTorch STDiT3 takes them as its state dict, and computes what osora does
from them. Skipped where no Python with PyTorch and safetensors is found (OSORA_TEST_PYTHON names
one)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["OSORA_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["OSORA_BIN_DIR"])
RUN_FILE = """
[run]
name = "python"
[resources]
cpus_per_worker = 1
[model]
arch = "stdit3-tiny"
[data]
manifest = "clips.csv"
host_memory_gib = 1
[[bucket]]
resolution = "32"
num_frames = 4
[batch]
global_batch_size = 2
[optim]
precision = "fp32"
lr = 1e-2
warmup_steps = 0
[train]
steps = 3
"""
# Runs in the Python that has PyTorch: OUTPUTS is what osora computed.
CHECK = """
import json, struct, sys
import torch
from safetensors.torch import load_file  # its save_file would need numpy
sys.path.insert(0, sys.argv[1])
from stdit3_torch import STDiT3
checkpoint, folder, phase = sys.argv[2:5]
def save(tensors, path):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = bytes(tensor.contiguous().flatten().view(torch.uint8).tolist())
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
weights = load_file(checkpoint + "/model.safetensors")
model = STDiT3()
expected = {name: (list(value.shape), value.dtype) for name, value in model.state_dict().items()}
found = {name: (list(value.shape), value.dtype) for name, value in weights.items()}
assert found == expected, sorted(set(found.items() ^ expected.items(), key=str))
model.load_state_dict(weights)
for other in ("ema", "optimizer_exp_avg", "optimizer_exp_avg_sq"):
    tensors = load_file(f"{checkpoint}/{other}.safetensors")
    names = {name for name, value in model.named_parameters() if value.requires_grad}
    assert set(tensors) == names, sorted(set(tensors) ^ names)
torch.manual_seed(5)
x, t = torch.randn(2, 3, 4, 32, 32), torch.tensor([10.0, 700.0])
if phase == "inputs":
    y = weights["y_embedder.y_embedding"][None, None].repeat(2, 1, 1, 1)
    save({"x": x, "timestep": t, "fps": torch.tensor([24.0]), "y": y,
          "height": torch.tensor([32.0]), "width": torch.tensor([32.0])},
         folder + "/inputs.safetensors")
else:
    with torch.no_grad():
        theirs = model(x, t, torch.tensor([24.0]), 32.0, 32.0)
    ours = load_file(folder + "/out.safetensors")["out/out"]
    difference = ((ours - theirs).norm() / theirs.norm()).item()
    print(f"relative difference {difference:.1e}")
    assert difference <= 4.5e-6, difference  # kFp32Output of tests/parity/compare.hpp
"""


def python_with_torch():
    tried = []
    for python in (os.environ.get("OSORA_TEST_PYTHON"), str(SOURCE / ".deps/venv/bin/python"),
                   sys.executable):
        if not python or not pathlib.Path(python).exists():
            continue
        check = subprocess.run([python, "-c", "import torch, safetensors.torch"],
                               capture_output=True, text=True, timeout=120)
        if check.returncode == 0:
            return python
        tried.append(f"{python}: {(check.stderr.strip().splitlines() or ['?'])[-1]}")
    print("skipped: no Python with PyTorch and safetensors (" + "; ".join(tried) + ")")
    sys.exit(77)


def run(folder, command):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1",
                   "CUDA_VISIBLE_DEVICES": "", "OSORA_STATE_DIR": str(folder / "state")}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                           timeout=110)
    if ended.returncode != 0:
        sys.exit(f"{command}: {ended.returncode}\n--- stdout\n{ended.stdout}\n--- stderr\n"
                 f"{ended.stderr}")
    return ended.stdout


def main():
    python = python_with_torch()
    osora = str(BIN / "osora")
    bench = str(SOURCE / "bench/trainer_vs_pytorch")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(folder, ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                     "testsrc2=size=64x64:rate=12:duration=1", "-pix_fmt", "yuv420p", "clip.mp4"])
        (folder / "clips.csv").write_text("path,text\nclip.mp4,\n")
        (folder / "run.toml").write_text(RUN_FILE)
        run(folder, [osora, "submit", "run.toml"])
        checkpoint, = folder.glob("state/runs/*/checkpoints/step-*")
        check = [python, "-c", CHECK, bench, str(checkpoint), str(folder)]
        run(folder, [*check, "inputs"])
        run(folder, [osora, "model", "forward", "--arch", "stdit3-tiny", "--weights",
                     str(checkpoint / "model.safetensors"), "--inputs", "inputs.safetensors",
                     "--out", "out.safetensors"])
        print(run(folder, [*check, "outputs"]).strip())
        state = json.loads((checkpoint / "state.json").read_text())
        assert state["step"] == 3 and state["arch"] == "stdit3-tiny", state


if __name__ == "__main__":
    main()
