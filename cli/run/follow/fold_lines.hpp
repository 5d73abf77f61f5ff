// Shows lines that many ranks print alike once: "ranks 0-3: loading". Pure, bounded: each rank has
// a window of lines; a line waits until every rank that has it in its window has it at the front,
// so that the order of lines within a rank never changes.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace osora::cli {

struct FoldedLine {
    std::vector<int> ranks;  // ranks that printed it, ascending
    std::string text;
};

class LineFolder {
public:
    static constexpr std::size_t kWindow = 256;            // lines of a rank
    static constexpr std::size_t kLineBytesMax = 1 << 13;  // longer lines are cut

    explicit LineFolder(int rank_count);

    /// Whether `rank` can take no more lines before next() makes room.
    [[nodiscard]] bool is_full(int rank) const;
    void add(int rank, std::string_view line);

    /// The next line to show; false when no window has one. Call it when every rank's window is
    /// full or its source has no more for now.
    [[nodiscard]] bool next(FoldedLine& line);

private:
    [[nodiscard]] std::string const* choose() const;
    void remove_front(int rank);

    std::vector<std::deque<std::string>> windows_;
    std::unordered_map<std::string, std::unordered_map<int, int>>
        holders_;  // line -> rank -> times
};

/// "0-3,5" ; "7".
[[nodiscard]] std::string rank_list(std::vector<int> const& ranks);

}  // namespace osora::cli
