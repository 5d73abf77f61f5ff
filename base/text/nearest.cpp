// Optimal string alignment distance over whole rows; names are short.
#include "base/text/nearest.hpp"

#include "base/text/text.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace osora {

int edit_distance(std::string_view a, std::string_view b) {
    // rows[2] is the current row, rows[1] the one before it, rows[0] the one before that.
    std::vector<std::vector<int>> rows(3, std::vector<int>(b.size() + 1));
    for (std::size_t j = 0; j <= b.size(); ++j) rows[2][j] = static_cast<int>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::swap(rows[0], rows[1]);
        std::swap(rows[1], rows[2]);
        rows[2][0] = static_cast<int>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            int const replaced = rows[1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            rows[2][j] = std::min({replaced, rows[1][j] + 1, rows[2][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                rows[2][j] = std::min(rows[2][j], rows[0][j - 2] + 1);
            }
        }
    }
    return rows[2][b.size()];
}

std::optional<std::string_view> nearest_name(std::string_view typed,
                                             std::span<std::string_view const> candidates) {
    constexpr std::size_t kTypedMax = 256;  // the cost is a product: no typo is that long
    constexpr std::size_t kPrefixMin = 3;   // shortest truncated name that counts as one edit
    if (typed.empty() || typed.size() > kTypedMax) return std::nullopt;
    std::string const wanted = lower(typed);
    std::optional<std::string_view> best;
    int best_distance = 0, best_edits = 0;
    for (std::string_view const candidate : candidates) {
        std::string const known = lower(candidate);
        bool const cut = std::min(wanted.size(), known.size()) >= kPrefixMin &&
                         (wanted.starts_with(known) || known.starts_with(wanted));
        int const edits = edit_distance(wanted, known);
        int const distance = cut ? std::min(1, edits) : edits;
        int const limit =
            std::max<int>(1, static_cast<int>(std::max(typed.size(), candidate.size()) / 3));
        if (candidate.empty() || distance > limit) continue;
        bool const nearer =
            distance < best_distance || (distance == best_distance && edits < best_edits);
        if (!best || nearer) {
            best = candidate;
            best_distance = distance;
            best_edits = edits;
        }
    }
    return best;
}

}  // namespace osora
