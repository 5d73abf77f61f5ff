// The sizes of a run file's [model] over those of its architecture, and the rules that they must
// meet. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/config/sections/model_section.hpp"
#include "plan/model/model_description.hpp"

#include <string>
#include <vector>

namespace osora::plan {

/// A size that cannot work; `message` stands after "KEY = VALUE: ".
struct SizeViolation {
    std::string key;      // of the run file: "model.hidden"
    std::string message;  // "4 heads take multiples of 8; nearest valid: 96, 104"
    Errc code = Errc::invalid_input;
};

/// Every rule that is broken, against the key that was set; empty when the network can be built.
/// An unknown architecture is one of "model.arch", of code not_found.
[[nodiscard]] std::vector<SizeViolation> size_violations(ModelSection const& model);

/// The architecture with the sizes that `model` sets; the first of size_violations() is the error.
[[nodiscard]] Result<ModelShape> model_shape(ModelSection const& model);

}  // namespace osora::plan
