// Rows of schema.cpp for what happens around training: [faults], [probe], [bisect], [notify],
// [daemon] and [debug]. Private to it.
#pragma once

#include "plan/config/rows/model_rows.hpp"
#include "plan/config/schema.hpp"

#include <array>

namespace osora::plan {

// clang-format off
inline constexpr std::array kFaultRows{
    SchemaRow{.section = "faults", .key = "max_restarts",
              .doc = "Relaunches before the run counts as failed.", .min = 0, .max = 10000},
    SchemaRow{.section = "faults", .key = "step_timeout",
              .doc = "A step without progress for longer is a hang.", .unit = "s", .min = 0,
              .max = 1e9, .above_min = true},
    SchemaRow{.section = "faults", .key = "collective_timeout",
              .doc = "Ranks wait no longer for each other, in a collective or to join.",
              .unit = "s", .min = 1, .max = 86400},
    SchemaRow{.section = "faults", .key = "lost_after",
              .doc = "A node whose agent is silent for longer is lost; agents report each second.",
              .unit = "s", .min = 2, .max = 86400},
    SchemaRow{.section = "faults", .key = "lease",
              .doc = "An agent that hears no controller for longer stops its ranks.",
              .unit = "s", .min = 2, .max = 1e9},
    SchemaRow{.section = "faults", .key = "stacks_limit",
              .doc = "How long a hang is examined before its ranks are killed.", .unit = "s",
              .min = 1, .max = 3600},
    SchemaRow{.section = "faults", .key = "log_mib",
              .doc = "Maximum size of a rank's log, whose middle is dropped; 0: no limit.",
              .unit = "MiB", .min = 0, .max = 1e9},
    SchemaRow{.section = "faults", .key = "exclude_nodes", .doc = "Nodes never to use.",
              .example = "[\"n11\"]", .support = Support::none_harmless},

    SchemaRow{.section = "probe", .key = "before_start",
              .doc = "Measure links before the first launch; auto: unless that was done lately.",
              .choices = "auto|always|never"},
    SchemaRow{.section = "probe", .key = "max_age_h",
              .doc = "auto: a measurement of the same nodes that is not older will do.",
              .unit = "h", .min = 0, .max = 87600},
    SchemaRow{.section = "probe", .key = "exclude",
              .doc = "A node that is found slow is left out, while there are spares."},

    SchemaRow{.section = "bisect", .key = "auto", .doc = "After a slow run: repeat, then bisect.",
              .choices = "off|suggest|run", .member = "auto_mode"},
    SchemaRow{.section = "bisect", .key = "budget_gpu_h", .doc = "Most that a bisect may spend.",
              .unit = "GPU-h", .min = 0, .max = 1e9},
    SchemaRow{.section = "bisect", .key = "build",
              .doc = "How to build a commit; empty: commits are not a factor.",
              .example = "[\"make\", \"-j8\"]"},

    SchemaRow{.section = "notify", .key = "on",
              .doc = "When a message is sent; failure: also at a restart.",
              .choices = "end|failure|regression", .example = "[\"end\", \"failure\"]"},
    SchemaRow{.section = "notify", .key = "command",
              .doc = "Program and arguments; it gets the message as JSON on stdin.",
              .example = "[\"./notify.sh\", \"stage 1\"]"},
    SchemaRow{.section = "notify", .key = "webhook",
              .doc = "http:// or https:// URL that gets the message as a POST of JSON."},
    SchemaRow{.section = "notify", .key = "mail", .doc = "Address that gets a mail (sendmail)."},

    SchemaRow{.section = "daemon", .key = "metrics",
              .doc = "Address of metrics for Prometheus; port 0: any free one; empty: none.",
              .example = "\"127.0.0.1:9464\""},

    SchemaRow{.section = "debug", .key = "collectives", .doc = "How gradients are reduced.",
              .choices = "bucketed|per_parameter"},
    SchemaRow{.section = "debug", .key = "frame_mask_rule",
              .doc = "\"original\": masks may leave no frame to train on (NaN), as Open-Sora's.",
              .choices = "osora|original"},
    SchemaRow{.section = "debug", .key = "bucket_schedule",
              .doc = "\"original\": ranks draw buckets of unequal cost, as Open-Sora does.",
              .choices = "balanced|original"},
    SchemaRow{.section = "debug", .key = "attention",
              .doc = "\"unfused\": keeps all scores, as Open-Sora without flash attention.",
              .choices = "fused|unfused"},
    SchemaRow{.section = "debug", .key = "kernels",
              .doc = "\"plain\": a GPU computes each operator by itself, without osora's kernels.",
              .choices = "fused|plain"},
    SchemaRow{.section = "debug", .key = "memory_guard",
              .doc = "false: a pass that does not fit into memory ends the run."},
};
// clang-format on

}  // namespace osora::plan
