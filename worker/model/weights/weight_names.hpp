// Names of tensors as wrappers change them: DistributedDataParallel, torch.compile, LightningModule
// and ComfyUI put a prefix before all of them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

/// "module._orig_mod.": the wrapper prefixes that all names share, in any nesting; "": none.
[[nodiscard]] std::string wrapper_prefix(std::vector<std::string_view> const& names);

/// "ema_model. (142), online_model. (142), step (1)": the first parts of names with the number of
/// names for each, most first, at most six.
[[nodiscard]] std::string first_parts(std::vector<std::string_view> const& names);

}  // namespace osora::worker
