#include "worker/data/skipped_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::worker {

std::vector<std::string> describe_skipped(std::span<SkippedRow const> rows, std::string_view list) {
    std::vector<std::string> lines;
    std::size_t const named = std::min(rows.size(), kSkippedNamed);
    for (SkippedRow const& row : rows.first(named))
        lines.push_back(fmt::format("{}:{}: {}: {}", list, row.line, row.path, row.reason));
    if (rows.size() > named) {
        lines.push_back(
            fmt::format("{} more rows of {} are not used; osora data check --manifest "
                        "{} names them all",
                        rows.size() - named, list, list));
    }
    return lines;
}

Error nothing_usable(std::size_t rows, SkippedRow const& first) {
    return {Errc::invalid_input,
            fmt::format("none of its {} rows can be used; the first, line {} ({}): {}", rows,
                        first.line, first.path, first.reason)};
}

}  // namespace osora::worker
