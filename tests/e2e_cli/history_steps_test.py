#!/usr/bin/env python3
"""osora history export --format tensorboard|csv of a mock run that is relaunched: every step once,
the figures of history.db, files that TensorBoard reads; and etc/grafana/osora.json, whose metrics
exist."""
import csv
import io
import json
import math
import re
import tempfile
from pathlib import Path

import event_files
from run_kit import SOURCE, osora, run_file

STEPS = 40


def read_by_tensorboard(file):
    """{(step, tag): value} by TensorBoard's own reader; {} when it is not installed."""
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.util import tensor_util
    except ImportError:
        print("tensorboard is not there: read by event_files.py only")
        return {}
    return {(event.step, value.tag): tensor_util.make_ndarray(value.tensor).item()
            for event in EventFileLoader(str(file)).Load() for value in event.summary.value}


def query(folder, columns):
    text = osora(folder, "history", "sql",
                 f"SELECT {columns} FROM v_step WHERE run = 1 ORDER BY step", "--format", "csv")
    return list(csv.DictReader(io.StringIO(text)))


def check_csv(folder):
    assert f"{STEPS} steps of 1 run to steps.csv" in osora(
        folder, "history", "export", "1", "--format", "csv", "--to", "steps.csv")
    rows = list(csv.DictReader((folder / "steps.csv").open(newline="")))
    theirs = query(folder, "step, attempt, loss, step_time_max_s, samples, rss_max_bytes")
    assert [int(row["step"]) for row in rows] == list(range(STEPS)), rows
    for mine, other in zip(rows, theirs, strict=True):
        for column, name in (("attempt", "attempt"), ("loss", "loss"), ("samples", "samples"),
                             ("step_time_s", "step_time_max_s"), ("rss_bytes", "rss_max_bytes")):
            assert math.isclose(float(mine[column]), float(other[name]), rel_tol=1e-9), \
                (mine, other)
        assert mine["run"] == "1" and mine["name"] == "demo-0001", mine
    walls = [float(row["wall_s"]) for row in rows]
    assert walls == sorted(walls), walls
    taken = osora(folder, "history", "export", "1", "--format", "csv", "--to", "steps.csv", code=2)
    assert "steps.csv exists and is not overwritten" in taken, taken
    return rows


def check_event_files(folder, rows):
    said = json.loads(osora(folder, "history", "export", "1", "--format", "tensorboard", "--to",
                            "curves", "--json"))
    assert said["schema"] == "osora.history.export/1" and said["runs"][0]["steps"] == STEPS, said
    file = folder / said["runs"][0]["file"]
    assert file.parent == folder / "curves/demo-0001" and "tfevents" in file.name, file
    events = event_files.scalars(file.read_bytes())
    assert [step for _, step, _ in events] == list(range(STEPS)), events
    for (wall, _, values), row in zip(events, rows, strict=True):
        assert abs(wall - float(row["wall_s"])) < 1e-5, (wall, row)
        for tag, column in (("loss", "loss"), ("lr", "lr"), ("time/step_s", "step_time_s"),
                            ("samples_per_s", "samples_per_s"), ("time/forward_s", "forward_s"),
                            ("memory/rss_bytes", "rss_bytes")):
            assert math.isclose(values[tag], float(row[column]), rel_tol=1e-6), (tag, values, row)
    theirs = read_by_tensorboard(file)
    if theirs:
        assert theirs == {(step, tag): value for _, step, values in events
                          for tag, value in values.items()}


def check_grafana():
    """Each metric of the dashboard is one that the controller serves, with these labels."""
    text = (SOURCE / "etc/grafana/osora.json").read_text()
    golden = (SOURCE / "tests/data/metrics/run.openmetrics").read_text()
    served = {}
    for name, labels in re.findall(r"^(osora_\w+)\{(.*)\} ", golden, re.M):
        served.setdefault(name, set()).update(re.findall(r"(\w+)=\"", labels))
    queries = [target["expr"] for panel in json.loads(text)["panels"]
               for target in panel["targets"]]
    assert len(queries) >= 15
    queries += re.findall(r"label_values\([^)]*\)", text.replace('\\"', '"'))
    for each in queries:
        for name, labels in re.findall(r"\b(osora_\w+)\b(?:\{([^}]*)\})?(?!=)", each):
            assert name in served, (name, each)
            for label in re.findall(r"(\w+)=~?\"", labels):
                assert label in served[name], (label, each)


def main():
    check_grafana()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "clips.csv").write_text("path,num_frames,height,width\na.mp4,64,96,96\n")
        (folder / "run.toml").write_text(run_file(STEPS)
                                         + '[worker]\nenv = { OSORA_MOCK_KILL = "0:25@0" }\n')
        osora(folder, "submit", "run.toml")
        rows = check_csv(folder)
        check_event_files(folder, rows)
        wrong = osora(folder, "history", "export", "1", "--format", "parquet", "--to", "x", code=2)
        assert "tensorboard" in wrong, wrong
        (folder / "state/runs/demo-0001/journal").unlink()
        gone = osora(folder, "history", "export", "1", "--format", "csv", "--to", "y.csv", code=2)
        assert "its journal" in gone and not (folder / "y.csv").exists(), gone


if __name__ == "__main__":
    main()
