#include "protocol/steps/bucket_label.hpp"

#include <set>

namespace osora::protocol {
namespace {

constexpr char kJoin = '+';
constexpr std::size_t kNamesMax = 16;

void split_into(std::string_view label, std::set<std::string, std::less<>>& names) {
    for (std::size_t end = 0; end != label.npos;) {
        end = label.find(kJoin);
        names.emplace(label.substr(0, end));
        if (end != label.npos) label.remove_prefix(end + 1);
    }
}

}  // namespace

void merge_bucket(std::string& into, std::string_view other) {
    if (into == other || other.empty()) return;
    if (into.empty()) {
        into = other;
        return;
    }
    std::set<std::string, std::less<>> names;
    split_into(into, names);
    split_into(other, names);
    std::string label;
    std::size_t kept = 0;
    for (auto const& name : names) {
        if (kept++ == kNamesMax) break;
        if (kept > 1) label += kJoin;
        label += name;
    }
    into = std::move(label);
}

bool is_mixed_bucket(std::string_view label) {
    return label.find(kJoin) != label.npos;
}

}  // namespace osora::protocol
