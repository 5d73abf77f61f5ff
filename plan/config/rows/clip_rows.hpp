// Rows of schema.cpp for the sections [text], [encode] and [score]. Private to it.
#pragma once

#include "plan/config/schema.hpp"

#include <array>

namespace osora::plan {

// clang-format off
inline constexpr std::array kClipRows{
    SchemaRow{.section = "text", .key = "embeddings",
              .doc = "Cached text embeddings (a folder); empty: null captions.",
              .example = "\"cache\"", .shape = Shape::path},
    SchemaRow{.section = "text", .key = "drop_prob",
              .doc = "Share of captions replaced by the null one; auto: 0.1, mmdit: 0.316.",
              .min = 0, .max = 1},
    SchemaRow{.section = "text", .key = "encoder",
              .doc = "Folder of a T5 encoder for run.job = \"encode\"; empty: no captions.",
              .example = "\"t5-v1_1-xxl\"", .shape = Shape::path},
    SchemaRow{.section = "text", .key = "clip_encoder",
              .doc = "Folder of a CLIP text encoder, for its pooled vectors (mmdit).",
              .example = "\"clip-vit-large-patch14\"", .shape = Shape::path},
    SchemaRow{.section = "text", .key = "max_tokens",
              .doc = "Longer captions are cut.", .unit = "tokens", .min = 1, .max = 4096},
    SchemaRow{.section = "text", .key = "padded",
              .doc = "Keep max_tokens rows of each caption, unmasked, as Open-Sora 2.0 does."},

    SchemaRow{.section = "encode", .key = "out", .doc = "Folder of the cache.",
              .example = "\"cache\""},
    SchemaRow{.section = "encode", .key = "dtype", .doc = "Of latents and embeddings.",
              .choices = "fp32|bf16"},
    SchemaRow{.section = "encode", .key = "latents",
              .doc = "Whether clips are encoded; false: captions only."},
    SchemaRow{.section = "encode", .key = "std",
              .doc = "Keep deviations beside means: training can sample the posterior."},
    SchemaRow{.section = "encode", .key = "shard_mib", .doc = "Largest file.", .unit = "MiB",
              .min = 1, .max = 1 << 20},

    SchemaRow{.section = "score", .key = "output", .doc = "The file to write, a CSV.",
              .example = "\"scores.csv\""},
    SchemaRow{.section = "score", .key = "scores",
              .doc = "What is measured of each clip; text needs Tesseract.",
              .choices = "motion|blur|cuts|brightness|text|aesthetic|flow"},
    SchemaRow{.section = "score", .key = "frames",
              .doc = "Frames sampled of each clip, evenly spread; auto: 16.", .unit = "frames",
              .min = 1, .max = 64},
    SchemaRow{.section = "score", .key = "deadline",
              .doc = "Most for one clip; auto: 30, with cuts, text or a model 600.", .unit = "s",
              .min = 0, .max = 86400, .above_min = true},
    SchemaRow{.section = "score", .key = "aesthetic",
              .doc = "TorchScript file of the score aesthetic; empty: none.",
              .example = "\"aesthetic.pt\"", .shape = Shape::path},
    SchemaRow{.section = "score", .key = "flow",
              .doc = "TorchScript file of the score flow; empty: none.",
              .example = "\"flow.pt\"", .shape = Shape::path},
};
// clang-format on

}  // namespace osora::plan
