// The order: of the lines at the fronts, the first one that no rank holds further back ("ready"),
// of the lowest rank; when orders contradict each other, the line that most ranks have at the
// front.
#include "cli/run/follow/fold_lines.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

namespace osora::cli {

LineFolder::LineFolder(int rank_count) : windows_(static_cast<std::size_t>(rank_count)) {}

bool LineFolder::is_full(int rank) const {
    return windows_[static_cast<std::size_t>(rank)].size() >= kWindow;
}

void LineFolder::add(int rank, std::string_view line) {
    OSORA_CHECK(!is_full(rank), "the caller asks is_full() first");
    std::string text(line.substr(0, kLineBytesMax));
    if (line.size() > kLineBytesMax) text += "...";
    ++holders_[text][rank];
    windows_[static_cast<std::size_t>(rank)].push_back(std::move(text));
}

std::string const* LineFolder::choose() const {
    std::unordered_map<std::string_view, std::size_t> leading;
    for (auto const& window : windows_) {
        if (!window.empty()) ++leading[window.front()];
    }
    std::string const* most = nullptr;
    std::size_t most_count = 0;
    for (auto const& window : windows_) {
        if (window.empty()) continue;
        std::size_t const count = leading.at(window.front());
        if (count == holders_.at(window.front()).size()) return &window.front();
        if (count > most_count) {
            most = &window.front();
            most_count = count;
        }
    }
    return most;
}

void LineFolder::remove_front(int rank) {
    auto& window = windows_[static_cast<std::size_t>(rank)];
    auto const held = holders_.find(window.front());
    if (--held->second[rank] == 0) held->second.erase(rank);
    if (held->second.empty()) holders_.erase(held);
    window.pop_front();
}

bool LineFolder::next(FoldedLine& line) {
    std::string const* chosen = choose();
    if (chosen == nullptr) return false;
    line.text = *chosen;
    line.ranks.clear();
    for (std::size_t rank = 0; rank < windows_.size(); ++rank) {
        if (windows_[rank].empty() || windows_[rank].front() != line.text) continue;
        line.ranks.push_back(static_cast<int>(rank));
        remove_front(static_cast<int>(rank));
    }
    return true;
}

std::string rank_list(std::vector<int> const& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        text += text.empty() ? "" : ",";
        text += last == i ? std::to_string(ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace osora::cli
