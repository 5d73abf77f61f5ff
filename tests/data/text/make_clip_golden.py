#!/usr/bin/env python3
"""Makes clip/vocab.json, clip/merges.txt and clip_tokenizer.json: a small byte-level BPE of CLIP's
kind, trained on the sentences of make_tokenizer_golden.py, and what transformers' CLIPTokenizer
makes of texts with it.
usage: make_clip_golden.py FOLDER, in a venv with pip install transformers==5.23.0"""
import ast
import collections
import itertools
import json
import sys
import unicodedata
from pathlib import Path

import transformers

MERGES = 260
TEXTS = [
    "<|startoftext|>", "<|endoftext|>", "a<|endoftext|>b", "a <|endoftext|> b", "<|STARTOFTEXT|>",
    "<|endoftext|", "it's we're I've I'm he'll she'd don't", "IT'S", "!'s ''s 's's", "'sad", "o'clock",
    "'", "''", "a'b", "x'", "1st 22nd 333", "٣٤", "²½Ⅷ", "dog's-dogs", "...a...", "a,b;c", "Ω ΑΣ Σ ΣΑΣ",
    "İstanbul IĞDIR", "ǅ Ǆ", "A\u030a", "\u1e9b\u0323", "가", "\u1100\u1161", "\u0344", "\ufb01",
    "日本 語", "𝒜𝓑", "𐐀𐐁", "e\u0301\u0327", "a\u0345", "\u2126 \u212b \u212a", "tab\t\tspace", "\u3000",
    "the\u180edog", "x\u200by", "the the the the", "a" * 50, "running " * 100, "ab" * 120, "dog " * 75,
    "dog " * 76, "dog " * 74,
]


def constant(name):
    """A list of make_tokenizer_golden.py, which needs more than this file does."""
    tree = ast.parse((Path(__file__).parent / "make_tokenizer_golden.py").read_text())
    node = next(n for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == name)
    return eval(compile(ast.Expression(node.value), name, "eval"))


def spellings():
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {byte: chr(byte) for byte in seen}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + len(table) - len(seen))
    return table


def train():
    """(vocabulary, merges): the most frequent pair MERGES times, ties by spelling."""
    table = spellings()
    words = collections.Counter()
    phrases = itertools.product(*(constant(name) for name in ("SUBJECTS", "VERBS", "PLACES")))
    for sentence in [" ".join(each) for each in phrases] + constant("OTHERS") * 20:
        for word in unicodedata.normalize("NFC", sentence).lower().split():
            symbols = [table[byte] for byte in word.encode()]
            words[(*symbols[:-1], symbols[-1] + "</w>")] += 1
    merges = []
    while len(merges) < MERGES:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        words = collections.Counter({merged(word, best): n for word, n in words.items()})
    order = [table[b] for b in (*range(33, 127), *range(161, 173), *range(174, 256))]
    order += [c for c in table.values() if c not in order]
    tokens = order + [c + "</w>" for c in order] + ["".join(pair) for pair in merges]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    assert len(set(tokens)) == len(tokens)
    return {token: i for i, token in enumerate(tokens)}, merges


def merged(word, pair):
    out, i = [], 0
    while i < len(word):
        both = word[i:i + 2] == pair
        out.append(word[i] + word[i + 1] if both else word[i])
        i += 2 if both else 1
    return tuple(out)


def main():
    folder = Path(sys.argv[1])
    place = folder / "clip"
    place.mkdir(exist_ok=True)
    vocabulary, merges = train()
    (place / "vocab.json").write_text(json.dumps(vocabulary))
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    (place / "merges.txt").write_text("\n".join(lines) + "\n")
    tokenizer = transformers.CLIPTokenizer.from_pretrained(place, pad_token="<|endoftext|>")
    rows = []
    for text in TEXTS + constant("TEXTS"):
        whole = tokenizer(text).input_ids
        cut = tokenizer(text, max_length=77, padding="max_length", truncation=True).input_ids
        rows.append({"text": text, "ids": whole, "padded": cut})
    source = f"transformers {transformers.__version__} CLIPTokenizer"
    text = ",\n".join(json.dumps(row) for row in rows)
    (folder / "clip_tokenizer.json").write_text(
        f'{{"source": {json.dumps(source)}, "rows": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
