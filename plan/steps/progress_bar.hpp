// Progress bars as tqdm draws them: "Epoch 0: 22%|## | 4/18 [00:17<01:02, 4.47s/it, loss=10.1]".
// Private to plan/steps. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace osora::plan {

struct ProgressBar {
    std::string_view label;  // text before it, without the percentage
    std::string_view notes;  // text after the rate; "": none, or the line was cut
    std::string_view rest;   // rest of the line, after the bar
    std::int64_t count = 0;
    std::int64_t total = 0;  // 0: it has none
    std::optional<double> time_s;
};

/// The last bar of a plain line. Ignores bars of bytes or of other units than steps.
[[nodiscard]] std::optional<ProgressBar> last_bar(std::string_view plain);

/// What a bar counts, according to its label.
enum class BarKind { unlabelled, training, other };
[[nodiscard]] BarKind kind_of(ProgressBar const& bar);

}  // namespace osora::plan
