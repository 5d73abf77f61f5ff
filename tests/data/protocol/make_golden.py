#!/usr/bin/env python3
"""Writes the golden files beside it: the bytes that docs/rfc/002 promises, made without osora.

Each *.frames file holds one frame (u32 length, big endian, then JSON) for every message of one
direction; journal holds one record for every kind of event, journal2 the same as zstd frames. Run it
again after a message has got a new member, and look at the difference: an old file must still be
read.
"""
import base64
import json
import math
import pathlib
import struct

HERE = pathlib.Path(__file__).parent


def number(value):
    """A double as the codec writes it: shortest digits, always with an exponent (5E-1)."""
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits.strip("0"):
        return sign + "0E0"
    point = len(whole.lstrip("0")) if whole.strip("0") else -(len(fraction) - len(fraction.lstrip("0")))
    shift = int(exponent or 0) + point - 1
    digits = digits.rstrip("0")
    return f"{sign}{digits[0]}{'.' + digits[1:] if len(digits) > 1 else ''}E{shift}"


def text(value):
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(text(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def frame(message):
    body = text(message).encode()
    return struct.pack(">I", len(body)) + body


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


NAN = float("nan")


def matrix(rows):
    """Rows of values as protocol/matrix_codec.cpp describes them."""
    def level(value):
        if value != value:
            return -1
        return 0 if value < 1e-9 else 1 + round(math.log(min(value, 1e12) / 1e-9) / 0.002)

    def zigzag(number):
        return 2 * number if number >= 0 else -2 * number - 1

    bits, before = "", 0
    for row in rows:
        levels = [level(value) for value in row]
        median = sorted(levels)[len(levels) // 2]
        moved = f"{zigzag(median - before) + 1:b}"
        bits += "0" * (len(moved) - 1) + moved
        before = median

        def coded(k):
            text = ""
            for each in (zigzag(one - median) for one in levels):
                if each >> k >= 24:
                    text += "1" * 24 + f"{each:032b}"
                else:
                    text += "1" * (each >> k) + "0" + (f"{each % (1 << k):0{k}b}" if k else "")
            return text

        best = min(range(16), key=lambda k: len(coded(k)))
        bits += f"{best:04b}" + coded(best)
    bits += "0" * (-len(bits) % 8)
    return b"\x01" + bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


def raw(data):
    """Bytes that are not UTF-8."""
    return dict(base64=base64.b64encode(data).decode())


FACTS = {"libtorch": "2.11", "odd": "a \"quoted\" ü\n\u0001"}

VOTE = dict(name="stop vote", collective="all_reduce", backend="gloo", ranks=8, calls=3, bytes=12,
            seconds=0.75, exposed_s=0.0625)
STEP = dict(type="step", step=7, bucket="64x64x8", step_time_s=0.5, data_wait_s=0.001, forward_s=0.125,
            backward_s=0.25, exposed_comm_s=0.0625, optimizer_s=0.03125, other_s=1e-05,
            arrival_s=0.375, loss=NAN, grad_norm=1234.5, lr=0.0001, samples=16,
            rss_bytes=3000000000, peak_allocated_bytes=12, reserved_bytes=4096, alloc_retries=2,
            micro_batch_size=4, recomputed_blocks=2,
            collectives=[VOTE])
FROM_WORKER = [
    dict(type="hello", protocol=1, rank=3, pid=4242, start_step=20, facts=FACTS),
    dict(type="phase", phase="first_step", limit_s=90.5),
    STEP,
    dict(type="checkpoint", step=10, path="/runs/a b/checkpoints/step-00000010", seconds=0.75,
         bytes=5368709120),
    dict(type="notice", kind="clip_skipped", severity="info", step=4, detail="clips/ä.mp4: truncated"),
    dict(type="failed", exit_code=13, message="manifest clips.csv: empty"),
    dict(type="finished", steps=100, stopped=True),
    dict(type="arrived", step=7),
    dict(type="probe", part={"median_gbit_s": 1.5}),
    dict(type="evaluated", step=40, loss=0.625, samples=64, seconds=1.5),
]
TO_WORKER = [dict(type="stop", save_checkpoint=False, reason="Ctrl-C")]

RUN_SUBMITTED = dict(
    type="submitted", run_uuid="11111111-2222-4333-8444-555555555555", run_name="tiny-0042", job="train",
    user="u", host="h", base_dir="/home/u", number=42, nodes=2, ranks_per_node=4, restarts_max=1, steps=100, clips=0,
    attached=False, facts=FACTS, config={"train": {"steps": 100}}, origins={"train.steps": {"line": 3}},
    submitted_us=1_699_999_999_000_000)
RANK_STARTED = dict(type="rank_started", attempt=1, node=1, rank=5, pid=4243, start_step=10, facts=FACTS,
                    cpus="0-3,8")
RANK_FAILED = dict(type="rank_failed", attempt=1, node=1, rank=5, exit_code=12, signal=9, oom_killed=True,
                   message="allocate 2 GiB",
                   tail="step 9\nout of memory\n")
NODE_FINISHED = dict(type="node_finished", attempt=1, node=1, steps=100, stopped=True)
NODE_STOPPED = dict(type="node_stopped", attempt=1, node=1, processes_left=2, unasked=True,
                    gpu_fault="GPU 3: Xid 79")
CHECKPOINT = dict(type="checkpoint", attempt=1, step=10, path="/c", seconds=0.75, bytes=5368709120)
NOTICE = dict(type="notice", attempt=1, node=1, rank=5, step=4, kind="nan", severity="error", detail="loss")
METRICS = dict(type="metrics", attempt=1, node=1, ranks=4, step0=7, bucket=["64x64x8", "128x128x1"],
               samples=[16, 32],
               columns={"loss": dict(mean=[0.5, NAN], min=[0.25, 1.0], max=[0.75, NAN], argmax=[5, 6]),
                        "step_time_s": dict(mean=[0.1, 2.0], min=[0.1, 2.0], max=[0.1, 2.0],
                                            argmax=[4, 4])})
HEALTH = dict(type="health", node=1, number=3, why="GPU 1: Xid 79", load=1.5,
              memory_available_bytes=1 << 36, cgroup_memory_bytes=1 << 33, disk_free_bytes=1 << 40,
              gpus=[dict(gpu=1, temperature_c=88.0, power_w=650.5, sm_mhz=NAN, throttle_reasons=64,
                         ecc_uncorrected=2, memory_used_bytes=1 << 35, xids=[79, 31])])
MATRIX = dict(type="rank_matrix", attempt=1, node=1, first_rank=4, ranks=3, step0=7, steps=2,
              figures={"arrival_s": raw(matrix([[0.5, 0.505, 0.7], [0.25, NAN, 30.0]])),
                       "data_wait_s": raw(matrix([[0.0, 0.0, 0.0], [0.001, 0.0, 0.002]]))})
STEPS = dict(type="steps", attempt=1, step0=7, ranks=[8, 4], samples=[48, 32], bucket=["64x64x8", "128x128x1"],
             columns={"loss": dict(mean=[0.5, NAN], min=[0.25, 1.0], max=[0.75, NAN], argmax=[5, 6])},
             reported_by={"loss": [4, 4]}, first_node=1, next_steps=[9, 0, 8], local_ranks=[1, -1, 3],
             node_figures=raw(matrix([[0.5, NAN, 0.7], [0.25, NAN, 0.5], [NAN, NAN, 0.001],
                                      [3.5, NAN, 3.25], [0.0, NAN, 60.0]])))
COLLECTIVES = dict(type="collectives", attempt=1, node=1, number=4,
                   sums=[dict(bucket="64x64x8", warmup=True, rank_steps=3, cost=VOTE)])
PROBE = dict(type="probe", attempt=1, node=0, part={"pairs": [{"stage": "matching", "from": 0, "to": 1}]})
EVALUATION = dict(type="evaluation", attempt=1, step=40, loss=0.625, samples=64, seconds=1.5)
EVENTS = [
    RUN_SUBMITTED,
    dict(type="plan", plan={"schema": "osora.plan/1"}),
    dict(type="controller", host="h", boot_id="b", pid=77, incarnation=2, probed_s=9.5),
    dict(type="agent_joined", node=1, host="h1", boot_id="b1", pid=78, start_ticks=12345678901, facts=FACTS),
    dict(type="node_lost", node=1, silent_s=4.25, why="fell silent"),
    dict(type="launch", attempt=1, world_size=8, store_host="10.0.0.1", store_port=29500),
    RANK_STARTED, RANK_FAILED, NODE_FINISHED,
    dict(type="hang", attempt=1, node=1, rank=5, phase="checkpoint", silent_s=601.5, step=9,
         waiting=7, detail="is stopped by a signal"),
    CHECKPOINT, NOTICE,
    dict(type="stop_requested", now=True, reason="osora cancel", by_user=True),
    NODE_STOPPED,
    dict(type="ended", verdict="node_fault", exit_code=1, cause="node 1 fell silent for 4.2 s"),
    METRICS, HEALTH, MATRIX, PROBE, STEPS, COLLECTIVES, EVALUATION,
    dict(type="relaunch_asked", now=True, user="alice", reason="new driver"),
]
FROM_AGENT = [
    dict(type="hello", protocol=1, token="ab" * 32, node=1, host="h1", boot_id="b1", pid=78,
         start_ticks=12345678901, attempt=1, workers_left=4, first_report=17, facts=FACTS, agent_number=2),
    dict(type="heartbeat", attempt=1,
         ranks=[dict(rank=5, phase="step", step=9, silent_s=0.5, limit_s=30.0, arrived=10,
                     ignores_stop=True)]),
    dict(type="store", attempt=2, host="10.0.0.1", port=29501, error="none"),
    RANK_STARTED, RANK_FAILED, NODE_FINISHED, NODE_STOPPED, CHECKPOINT, NOTICE, METRICS, HEALTH,
    MATRIX, PROBE, COLLECTIVES, EVALUATION,
    dict(type="stacks", attempt=1, ranks=[dict(rank=5, state="waits in futex_wait_queue")]),
]
TO_AGENT = [
    dict(type="welcome", incarnation=2, health=True, matrices=True, collectives=True),
    dict(type="refused", reason="wrong token"),
    dict(type="beat"),
    dict(type="ack", next=18),
    dict(type="reserve_store", attempt=2),
    dict(type="launch_workers", attempt=2, world_size=8, first_rank=4, local_world_size=4,
         store_host="10.0.0.1", store_port=29501),
    dict(type="stop_attempt", attempt=2, how="kill", reason="Ctrl-C", relaunch=True),
    dict(type="dismiss"),
    dict(type="take_stacks", attempt=2, limit_s=4.0),
]
TO_CONTROLLER = [dict(type="ping"), dict(type="stop", now=True, reason="Ctrl-C", by_user=True),
                 dict(type="relaunch", now=False, user="alice", reason="new driver")]
FROM_CONTROLLER = [dict(type="reply", ok=False, message="the run is over", attempt=-1)]


def zstd(data):
    """One segment, 8 bytes of content size, one raw block (RFC 8878, 3.1.1)."""
    head = struct.pack("<IBQ", 0xFD2FB528, 0b11100000, len(data))
    return head + (len(data) << 3 | 1).to_bytes(3, "little") + data


def journal(version, packed):
    data = f"osora journal {version}\n".encode()
    for sequence, event in enumerate(EVENTS):
        body = packed(text(dict(seq=sequence, wall_us=1_700_000_000_000_000 - sequence, **event)).encode())
        data += struct.pack(">II", len(body), crc32c(body)) + body
    return data


def main():
    for name, messages in dict(from_worker=FROM_WORKER, to_worker=TO_WORKER, from_agent=FROM_AGENT,
                               to_agent=TO_AGENT, to_controller=TO_CONTROLLER,
                               from_controller=FROM_CONTROLLER).items():
        (HERE / f"{name}.frames").write_bytes(b"".join(frame(each) for each in messages))
    (HERE / "journal").write_bytes(journal(1, bytes))
    (HERE / "journal2").write_bytes(journal(2, zstd))


main()
