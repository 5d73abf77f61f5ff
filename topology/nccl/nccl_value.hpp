// Whether NCCL (PyTorch, Gloo) would accept a value for a variable. NCCL itself mostly takes what
// it can and reports nothing: "abc" for a number is 0, an unknown word the default. Pure.
#pragma once

#include "topology/nccl/nccl_catalogue.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace osora::topology {

struct ValueProblem {
    std::string message;  // "must be in 1..16", as text after "NAME=VALUE: "
    std::string nearest;  // valid value that was probably meant; "" = none
};

/// nullopt: valid, or empty (the same as unset). `version` in NCCL's encoding, 0 = the newest: the
/// grammar of NCCL_ALGO and NCCL_PROTO changed with 2.24.
[[nodiscard]] std::optional<ValueProblem> check_value(NcclVariable const& variable,
                                                      std::string_view value, int version = 0);

/// Whether a file or an environment can hold it: one line of at most 4,095 bytes without control
/// bytes. The same problem for every variable, known or not.
[[nodiscard]] std::optional<ValueProblem> check_text(std::string_view value);

/// A value for a message: control bytes as '?', cut after 60 bytes.
[[nodiscard]] std::string shown_value(std::string_view value);

}  // namespace osora::topology
