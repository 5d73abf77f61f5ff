#include "protocol/node_memory.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::protocol {
namespace {

constexpr double kFaded = 0.05;

}  // namespace

double score_at(NodeRecord const& record, std::int64_t now_us) {
    double const age_s =
        static_cast<double>(std::max<std::int64_t>(0, now_us - record.updated_us)) / 1e6;
    double const score = record.score * std::exp2(-age_s / kHalfLifeS);
    return std::isfinite(score) ? score : 0;
}

std::int64_t excluded_until_us(NodeRecord const& record) {
    constexpr double kSecondsMost = 365 * 86400.0;
    bool const counts = std::isfinite(record.score) && record.score >= kTooMuch;
    if (!counts) return 0;
    double const after_s = std::min(std::log2(record.score / kTooMuch) * kHalfLifeS, kSecondsMost);
    auto const since_us = std::clamp<std::int64_t>(record.updated_us, 0, std::int64_t{1} << 60);
    return since_us + static_cast<std::int64_t>(after_s * 1e6);
}

NodeMemory with_fault(NodeMemory memory, std::string const& host, double weight,
                      std::string_view cause, std::int64_t now_us) {
    auto found = std::ranges::find(memory.nodes, host, &NodeRecord::host);
    if (found == memory.nodes.end()) {
        memory.nodes.push_back({host, 0, now_us, ""});
        found = std::prev(memory.nodes.end());
    }
    found->score = score_at(*found, now_us) + weight;
    found->updated_us = std::max(found->updated_us, now_us);
    found->cause = cause;
    std::erase_if(memory.nodes,
                  [now_us](NodeRecord const& each) { return score_at(each, now_us) < kFaded; });
    return memory;
}

std::vector<std::string> bad_hosts(NodeMemory const& memory, std::int64_t now_us) {
    std::vector<std::pair<double, std::string>> bad;
    for (NodeRecord const& each : memory.nodes) {
        double const score = score_at(each, now_us);
        if (score >= kTooMuch) bad.emplace_back(-score, each.host);
    }
    std::ranges::sort(bad);
    if (bad.size() > kExcludedMax) bad.resize(kExcludedMax);
    std::vector<std::string> hosts;
    for (auto& [score, host] : bad) hosts.push_back(std::move(host));
    return hosts;
}

}  // namespace osora::protocol
