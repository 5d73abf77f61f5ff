#!/usr/bin/env python3
"""Makes tiny.model and t5_tokenizer.json: a SentencePiece model of T5's kind, trained on the sentences
below, and what transformers' T5Tokenizer makes of texts with it.
usage: make_tokenizer_golden.py FOLDER, in a venv with
  pip install transformers==5.23.0 sentencepiece==0.2.3
The model is trained again only where it is missing: trainers differ between versions."""
import itertools
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

import sentencepiece
import transformers

SUBJECTS = ["A dog", "Two children", "A woman in a red coat", "An old man with a beard", "The camera",
            "A flock of birds", "Waves", "A small wooden boat", "Cars and buses", "A chef"]
VERBS = ["runs through", "moves slowly over", "stands in front of", "is seen from above", "looks at",
         "drifts past", "breaks on", "turns towards", "crosses", "disappears behind"]
PLACES = ["a snowy field", "the busy street at night", "a beach at sunset", "the mountains, far away",
          "an empty kitchen", "a bridge in the fog", "the forest; light falls between the trees",
          "a city skyline (time lapse)", "green hills", "the stage of a theatre"]
OTHERS = ["Ein Mann fährt mit dem Fahrrad über eine Brücke.", "Une vidéo d'un café à Paris.",
          "El niño juega en la playa con su perro.", "În fiecare toamnă pleacă ţăranii la câmp.",
          "4K footage, 30 fps, 1920x1080.", "Slow motion: 240 frames per second!",
          "aesthetic score: 5.5, motion score: 10", "\"What a day?\" she said - and left."]

TEXTS = [
    "", " ", "   ", "\n", "a", "A dog runs.", "a dog runs", "A DOG RUNS!", "  two  spaces  ",
    "tab\tand\nnew\r\nline", "trailing space ", " leading", "a\u00a0no-break\u202fspace", "wide\u3000space",
    "thin\u2009space \u2003em", "\u1680ogham", "line\u2028separator\u2029paragraph", "\u0085next", "a\u0085b",
    "vertical\u000btab\u000cfeed", "zero\u200bwidth", "joiner\u200dhere\u200c", "\ufeffbyte order mark",
    "soft\u00adhyphen", "right\u200fto\u200eleft", "nul\u0000here", "\u0000", "\u0001\u0002\u0003",
    "bell\u0007", "del\u007f", "escape\u001b[31mred", "c1\u0090control", "\ufffdreplacement", "\ufffc",
    "ﬁne ligature ﬂow", "Ｆｕｌｌ ｗｉｄｔｈ １２３", "½ and ² and ™ and №", "e\u0301 against é",
    "A\u030angstro\u0308m", "Å", "ǆ", "…dots...", "“quotes” ‘single’ «guillemets»", "en–dash em—dash",
    "日本語のビデオ", "中文视频描述", "한국어 비디오", "русский текст", "Ελληνικά", "עברית", "العربية",
    "हिन्दी", "ไทย", "🎥 film", "👩‍👩‍👧‍👦 family", "flag 🇩🇪", "\U0001f600\U0001f600", "\U0010ffff", "\U000e0001tag",
    "Ein Mann fährt über eine Brücke.", "café", "naïve façade", "În toamnă", "ß ẞ ı İ",
    "</s>", "<pad>", "<unk>", "a</s>b", "a </s> b", "</s></s>", "<extra_id_0>", "<extra_id_99>",
    "<extra_id_100>", "x <extra_id_1> y <extra_id_2>", "<extra_id_01>", "< /s>", "<s>", "</S>",
    "  <pad>  ", "▁", "▁a ▁b", "a▁b", "a ▁ b", "__under__", "<html>&amp;</html>", "&lt;",
    "https://example.org/a?b=c&d=e#f", "user@example.org", "C:\\path\\file.mp4", "#1234 @name",
    "1234567890", "3.14159", "1,000,000", "12:34:56", "-5°C", "100%", "$5 €5 £5", "a+b=c", "x^2",
    "((nested) [brackets] {braces})", "don't won't it's", "mixedCASEwords", "supercalifragilistic",
    "a" * 1000, "ab " * 400, "é" * 500, "日" * 400, "dog " * 298, "dog " * 299, "dog " * 300, "dog" * 301,
    " " * 1000 + "x", "The camera " * 60 + "</s>" + " turns towards a beach" * 60,
    "A dog runs through a snowy field. " * 40,
    "A woman in a red coat turns towards the stage of a theatre; aesthetic score: 5.5, 30 fps.",
]


def train(path):
    sentences = [f"{a} {b} {c}." for a, b, c in itertools.product(SUBJECTS, VERBS, PLACES)]
    sentences += OTHERS * 10
    random.Random(20261123).shuffle(sentences)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "corpus.txt"
        text.write_text("\n".join(sentences))
        sentencepiece.SentencePieceTrainer.train(
            input=str(text), model_prefix=str(Path(folder) / "tiny"), vocab_size=250,
            model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
            normalization_rule_name="nmt_nfkc", character_coverage=0.999, num_threads=1,
            hard_vocab_limit=False)
        shutil.copy(Path(folder) / "tiny.model", path)


def main():
    folder = Path(sys.argv[1])
    model = folder / "tiny.model"
    if not model.exists():
        train(model)
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(model, Path(place) / "spiece.model")
        tokenizer = transformers.T5Tokenizer.from_pretrained(place)
    rows = []
    for text in TEXTS:
        whole = tokenizer(text).input_ids
        cut = tokenizer(text, max_length=300, padding="max_length", truncation=True)
        rows.append({"text": text, "ids": whole, "cut_to_300": cut.input_ids[:sum(cut.attention_mask)]})
        assert len(cut.input_ids) == 300 and set(cut.input_ids[sum(cut.attention_mask):]) <= {0}
    source = f"transformers {transformers.__version__} T5Tokenizer, sentencepiece {sentencepiece.__version__}"
    lines = ",\n".join(json.dumps(row) for row in rows)
    (folder / "t5_tokenizer.json").write_text(
        f'{{"source": {json.dumps(source)}, "vocab_size": {len(tokenizer)}, "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
