"""Writes a cache folder (docs/rfc/022) of random latents and captions, for benches of training."""
import hashlib
import json

import numpy

VERSION = 1
CHANNELS, TEMPORAL, SPATIAL, CHUNK = 4, 4, 8, 17  # of Open-Sora v1.2's autoencoder


def safetensors(path, tensors, metadata):
    """`tensors`: name -> (type, shape, bytes)."""
    header, offset = {"__metadata__": metadata}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for _, _, data in tensors.values():
            out.write(data)
    return path.stat().st_size


def bf16(random, shape):
    """Random normal numbers, cut to BF16."""
    words = random.standard_normal(shape, dtype=numpy.float32).view(numpy.uint32) >> 16
    return "BF16", list(shape), words.astype(numpy.uint16).tobytes()


def integers(values):
    return "I64", [len(values)], numpy.array(values, dtype=numpy.int64).tobytes()


def caption_hash(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def latent_frames(frames):
    """17 frames give 5, and a rest of r frames ceil(r / 4)."""
    full, rest = divmod(frames, CHUNK)
    return full * -(-CHUNK // TEMPORAL) + -(-rest // TEMPORAL)


def metadata(number, entries):
    return {"osora_cache": str(VERSION), "settings": "random", "number": str(number),
            "entries": str(entries)}


def write(folder, buckets, clips, tokens, width):
    """`buckets`: (resolution, height, width, frames). `clips` of each; a caption has `tokens` rows
    of `width` numbers."""
    random = numpy.random.default_rng(1)
    (folder / "latents").mkdir(parents=True)
    (folder / "text").mkdir()
    captions = [caption_hash(f"clip {i}") for i in range(clips)]
    shards = []
    for number, (resolution, height, wide, frames) in enumerate(buckets):
        shape = (clips, CHANNELS, latent_frames(frames), height // SPATIAL, wide // SPATIAL)
        file = f"latents/{number:06}.safetensors"
        size = safetensors(folder / file, {
            "mean": bf16(random, shape), "caption": integers(captions),
            "row": integers(range(clips)), "start_frame": integers([0] * clips),
            "fps": ("F64", [clips], numpy.full(clips, 24.0).tobytes())}, metadata(number, clips))
        shards.append({"file": file, "resolution": resolution, "height": height, "width": wide,
                       "num_frames": frames, "share": 1.0, "clips": clips, "bytes": size})
    size = safetensors(folder / "text/000000.safetensors", {
        "embedding": bf16(random, (clips * tokens, width)), "caption": integers(sorted(captions)),
        "offset": integers([tokens * i for i in range(clips + 1)])}, metadata(0, clips))
    index = {
        "version": VERSION, "settings": "random",
        "latents": {"vae": "random", "channels": CHANNELS, "temporal": TEMPORAL,
                    "spatial": SPATIAL, "chunk_frames": CHUNK, "dtype": "BF16", "std": False},
        "text": {"encoder": "random", "channels": width, "max_tokens": tokens, "padded": False,
                 "dtype": "BF16", "pooled": 0},
        "latent_shards": shards,
        "text_shards": [{"file": "text/000000.safetensors", "first": min(captions),
                         "captions": clips, "bytes": size}]}
    (folder / "index.json").write_text(json.dumps(index))
