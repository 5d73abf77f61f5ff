// The sizes of a run file's [model] applied to those of its architecture, and the rules for them.
// Pure.
#pragma once

#include "base/result.hpp"
#include "plan/config/sections/model_section.hpp"
#include "plan/model/model_description.hpp"

#include <string>
#include <vector>

namespace osora::plan {

/// An invalid size; `message` is printed after "KEY = VALUE: ".
struct SizeViolation {
    std::string key;      // of the run file: "model.hidden"
    std::string message;  // "4 heads take multiples of 8; nearest valid: 96, 104"
    Errc code = Errc::invalid_input;
};

/// All broken rules, with the key that was set; empty if the network can be built. An unknown
/// architecture is a violation of "model.arch" with code not_found.
[[nodiscard]] std::vector<SizeViolation> size_violations(ModelSection const& model);

/// The architecture with the sizes that `model` sets; the error is the first of size_violations().
[[nodiscard]] Result<ModelShape> model_shape(ModelSection const& model);

}  // namespace osora::plan
