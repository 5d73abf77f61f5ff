// A case: one component of a model, its weights and inputs, from one safetensors file as in
// tests/data/parity. Each component is one function from a case to named outputs.
#pragma once

#include "base/result.hpp"
#include "worker/model/weights/safetensors.hpp"

#include <string>
#include <vector>

namespace osora::worker {

struct CaseFile {
    std::string component;       // "stdit3", "vae_temporal": metadata "component"
    std::string config;          // JSON: metadata "config"; empty: none
    SafetensorsContent content;  // weights/KEY, in/NAME or in/VARIANT/NAME
    bool train_step = false;     // grad/KEY and grad_in/NAME are requested besides out/NAME
};

/// out/NAME or out/VARIANT/NAME, with train_step also grad/KEY and grad_in/NAME. Missing, misshapen
/// and unknown inputs or weights are errors that name them, before anything is computed.
using CaseResult = Result<std::vector<NamedTensor>>;
using CaseFunction = CaseResult (*)(CaseFile const&);

}  // namespace osora::worker
