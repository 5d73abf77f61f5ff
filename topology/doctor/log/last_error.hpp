// PyTorch's exceptions repeat NCCL's last warning without the word NCCL: "ncclSystemError: ...",
// "Last error:", and the warning on a line of its own. Pure.
#pragma once

#include <string>
#include <string_view>

namespace osora::topology::doctor {

/// The text with such warnings as NCCL writes them, "NCCL WARN ...", behind the line. "": it has
/// none, or NCCL's own warnings are in it, which name their hosts.
[[nodiscard]] std::string with_last_errors(std::string_view text);

}  // namespace osora::topology::doctor
