// [optim] of the run file: the optimizer. A part of RunConfig.
#pragma once

#include "base/auto_or.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::plan {

struct OptimSection {
    std::string name = "adamw";
    double lr = 1e-4;
    int warmup_steps = 1000;
    std::string lr_schedule = "constant";
    double lr_min = 0;
    double beta1 = 0.9, beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0;
    AutoOr<double> grad_clip{1.0};  // "adaptive" is stored as auto
    double ema_decay = 0.99;        // 0: no average is kept
    std::string precision = "bf16";
    std::vector<std::string> freeze;
    int lora_rank = 0;
    AutoOr<double> lora_alpha;  // auto: lora_rank
    std::vector<std::string> lora_targets;
};
BOOST_DESCRIBE_STRUCT(OptimSection, (),
                      (name, lr, warmup_steps, lr_schedule, lr_min, beta1, beta2, eps, weight_decay,
                       grad_clip, ema_decay, precision, freeze, lora_rank, lora_alpha,
                       lora_targets))

}  // namespace osora::plan
