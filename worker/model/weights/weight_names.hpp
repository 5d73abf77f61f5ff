// Names of tensors as wrappers leave them: DistributedDataParallel, torch.compile, LightningModule
// and ComfyUI put words in front of all of them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

/// "module._orig_mod.": what all names have in front of wrappers' words, in any nesting; "": none.
[[nodiscard]] std::string wrapper_prefix(std::vector<std::string_view> const& names);

/// "ema_model. (142), online_model. (142), step (1)": the first parts of names and how many have
/// each, most first, at most six.
[[nodiscard]] std::string first_parts(std::vector<std::string_view> const& names);

}  // namespace osora::worker
