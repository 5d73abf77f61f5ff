"""Peers' ways to the frames that osora data bench decodes; each opens the file for every clip, uses
one thread, and gives (N, H, W, 3) or (N, 3, H, W) uint8 RGB. Started by compare.py with one JSON
object, prints CPU seconds per clip."""
import importlib.metadata
import json
import resource
import sys


def torchcodec(mode):
    from torchcodec.decoders import VideoDecoder
    from torchcodec.transforms import Resize

    def read(path, indices, width, height):
        decoder = VideoDecoder(path, num_ffmpeg_threads=1, seek_mode=mode,
                               transforms=[Resize((height, width))])
        return decoder.get_frames_at(indices).data.numpy()
    return read


def decord():
    import decord

    def read(path, indices, width, height):
        reader = decord.VideoReader(path, width=width, height=height, num_threads=1)
        return reader.get_batch(indices).asnumpy()
    return read


def pyav():
    import av

    def read(path, indices, width, height):
        with av.open(path) as container:
            stream = container.streams.video[0]
            stream.thread_count = 1
            rate, base = stream.average_rate, stream.time_base
            first = stream.start_time or 0
            times = [first + round(index / rate / base) for index in indices]
            container.seek(times[0], stream=stream)
            wanted, frames = set(times), []
            for frame in container.decode(stream):
                if frame.pts in wanted:
                    frames.append(frame.reformat(width, height, "rgb24").to_ndarray())
                if len(frames) == len(times):
                    return frames
        raise RuntimeError(f"{len(frames)} of {len(times)} frames found")
    return read


PEERS = {
    "torchcodec exact": ("torchcodec", lambda: torchcodec("exact")),
    "torchcodec approximate": ("torchcodec", lambda: torchcodec("approximate")),
    "decord": ("decord", decord),
    "PyAV": ("av", pyav),
}


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    request = json.loads(sys.argv[1])
    package, make = PEERS[request["peer"]]
    read = make()
    indices = [request["start"] + k * request["stride"] for k in range(request["frames"])]
    shape = request["path"], indices, request["width"], request["height"]
    read(*shape)  # imports, tables and memory are there
    before = cpu_s()
    for _ in range(request["repeats"]):
        if len(read(*shape)) != request["frames"]:
            raise RuntimeError("frames are missing")
    print(json.dumps({"cpu_s_per_clip": (cpu_s() - before) / request["repeats"],
                      "version": importlib.metadata.version(package)}))


if __name__ == "__main__":
    main()
