"""The fenced blocks of the guide, and run files made of its parts."""
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

# What a run file needs besides a block that shows a part of one.
BASE = """
[run]
name = "part"
[resources]
gpus_per_node = 16
cpus_per_worker = 1
[model]
arch = "stdit3-tiny"
[data]
manifest = "clips.csv"
host_memory_gib = 1
[[bucket]]
resolution = "32"
num_frames = 4
[train]
steps = 40000
[batch]
global_batch_size = 32
"""


@dataclass
class Block:
    file: Path
    line: int  # of its first line
    language: str  # "": commands of a shell
    text: str

    @property
    def place(self):
        return f"{self.file.name}:{self.line}"

    def commands(self):
        return [line for line in self.text.splitlines() if line.strip()]


def blocks_of(file):
    """The fenced blocks of a page, in its order."""
    found, language, begun = [], None, 0
    lines = file.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if language is None:
            language, begun = line[3:].strip(), number
        else:
            found.append(Block(file, begun + 1, language, "\n".join(lines[begun:number - 1])))
            language = None
    assert language is None, f"{file.name}:{begun}: a block without an end"
    return found


def value_text(value):
    """A value of TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key_text(key)} = {value_text(each)}"
                                for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return json.dumps(value)


def key_text(key):
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def run_file_with(text):
    """A run file: BASE with the keys of this part of one in place of its own."""
    whole, part = tomllib.loads(BASE), tomllib.loads(text)
    for section, keys in part.items():
        if isinstance(keys, list):
            whole[section] = keys
        else:
            whole.setdefault(section, {}).update(keys)
    if "latents" in whole["data"] or whole["run"].get("job") == "exec":
        whole["data"].pop("manifest", None)
    lines = []
    for section, keys in whole.items():
        for table in keys if isinstance(keys, list) else [keys]:
            lines.append(f"[[{section}]]" if isinstance(keys, list) else f"[{section}]")
            lines += [f"{key_text(key)} = {value_text(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"
