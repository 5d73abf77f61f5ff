// The errors that users meet, each with what it means, why it happens and what to do: for `osora
// explain`, the ends of runs and docs/guide/errors.md. Pure.
#pragma once

#include "base/result.hpp"
#include "protocol/run_view.hpp"

#include <span>
#include <string_view>

namespace osora::cli {

struct Explanation {
    std::string_view id;     // "E-comm"; stays as it is in later versions
    std::string_view title;  // half a sentence
    std::string_view meaning;
    std::string_view causes;   // a line each, most likely first
    std::string_view next;     // what to do, a line each; commands as typed
    int exit_code = 1;         // of osora
    int worker_exit_code = 0;  // of osora-worker; 0: none
};

/// Sorted by id.
[[nodiscard]] std::span<Explanation const> explanations();

/// Ids also without "E-", in any case; kinds of osora data check ("too_large"); exit codes of
/// osora-worker ("13"). nullptr: none.
[[nodiscard]] Explanation const* find_explanation(std::string_view wanted);

/// Of a run that did not end ok; empty: it did, or has not ended.
[[nodiscard]] std::string_view explanation_of(protocol::RunView const& view);
/// Of an error that a command prints; empty: its message says all.
[[nodiscard]] std::string_view explanation_of(Errc code);

}  // namespace osora::cli
