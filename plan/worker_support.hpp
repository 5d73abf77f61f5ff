// What the worker of this version does, next to what a run file can ask for. Grows with the worker;
// validator and planner read it and nothing else.
#pragma once

#include <string>
#include <vector>

namespace osora::plan {

/// The first entry of a list is what "auto", or an unwritten default, becomes.
struct WorkerSupport {
    std::vector<std::string> archs{"stdit3-tiny", "stdit3-xl/2", "stdit3-3b/2", "mmdit-tiny",
                                   "mmdit-11b"};
    std::vector<std::string> pixel_archs{"stdit3-tiny", "mmdit-tiny"};  // those without a VAE
    std::vector<std::string> optimizers{"adamw"};
    std::vector<std::string> precisions{"fp32", "bf16", "fp16"};
    std::vector<std::string> vae_precisions{"fp32"};  // of autoencoders in training
    std::vector<std::string> recompute{"none"};
    std::vector<std::string> activation_stores{"none"};
    std::vector<std::string> collectives{"bucketed", "per_parameter"};
    std::vector<std::string> bucket_schedules{"balanced", "original"};
    int zero_stage_max = 0;
    bool model_parallel = false;  // tp, pp, sp above 1
};

}  // namespace osora::plan
