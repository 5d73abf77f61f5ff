// The features of this version's worker, a part of what a run file can ask for. Grows with the
// worker; read by validator and planner.
#pragma once

#include <string>
#include <vector>

namespace osora::plan {

/// The first entry of a list is what "auto", or an unwritten default, becomes.
struct WorkerSupport {
    std::vector<std::string> archs{"stdit3-tiny", "stdit3-xl/2", "stdit3-3b/2", "stdit2-tiny",
                                   "stdit2-xl/2", "mmdit-tiny",  "mmdit-11b"};
    std::vector<std::string> pixel_archs{"stdit3-tiny", "stdit2-tiny",
                                         "mmdit-tiny"};  // those without a VAE
    std::vector<std::string> optimizers{"adamw"};
    std::vector<std::string> precisions{"fp32", "bf16", "fp16"};
    std::vector<std::string> vae_precisions{"fp32"};                  // of autoencoders in training
    std::vector<std::string> recompute{"none", "selective", "full"};  // or a number of blocks
    std::vector<std::string> activation_stores{"none", "bf16", "int8", "offload"};
    std::vector<std::string> collectives{"bucketed", "per_parameter"};
    std::vector<std::string> bucket_schedules{"balanced", "original"};
    int zero_stage_max = 3;
    /// Sizes that may be above 1.
    std::vector<std::string> cuts{"parallel.tp_size", "parallel.pp_size", "parallel.sp_size"};
};

}  // namespace osora::plan
