#include "topology/doctor/log/watchdog_log.hpp"

#include "base/text/text.hpp"
#include "topology/doctor/log/nccl_log_internal.hpp"

namespace osora::topology::doctor {
namespace {

using View = std::string_view;

constexpr std::size_t kRanksMax = 1 << 16, kGroupsMax = 16;

template <class Number>
std::optional<Number> number_after(View line, View key) {
    auto const rest = after(line, key);
    return rest ? leading_number<Number>(*rest) : std::nullopt;
}

/// "[rank3]:" is the rank of the job; "Rank 3]" that of the process group, which older versions
/// write alone.
std::optional<int> rank_of(View line) {
    if (auto const rank = number_after<int>(line, "[rank")) return rank;
    return number_after<int>(line, "Rank ");
}

/// "0(default_pg)" of "[PG ID 0 PG GUID 0(default_pg) Rank 3]", "1" of "[PG 1 Rank 0]".
std::string group_of(View line) {
    auto const rest = after(line, "[PG ");
    if (!rest) return {};
    View const all = rest->substr(0, rest->find(" Rank "));
    auto const guid = after(all, "GUID ");
    return std::string((guid ? *guid : all).substr(0, 64));
}

void read_timeout(WatchdogRank& rank, View line, View work) {
    if (rank.number >= 0) return;  // later ones only follow
    auto const number = leading_number<std::int64_t>(work);
    if (!number || *number < 0) return;
    rank.number = *number;
    if (auto const operation = after(work, "OpType=")) {
        rank.operation = until(*operation, ",)").substr(0, 32);
    }
    rank.elements = number_after<std::int64_t>(work, "NumelIn=").value_or(-1);
    rank.waited_s = number_after<double>(work, ") ran for ").value_or(0) / 1000;
    rank.line = line.substr(0, kLogLineBytesMax);
}

void read_progress(WatchdogRank& rank, View line) {
    auto const group = group_of(line);
    if (rank.groups.size() >= kGroupsMax && !rank.groups.contains(group)) return;
    auto& progress = rank.groups[group];
    auto const keep = [](std::int64_t& into, std::optional<std::int64_t> number) {
        if (number && into < 0) into = *number;
    };
    for (View const key : {"detected by watchdog at work: ", "Timeout at NCCL work: ",
                           "detected by watchdog at work sequence id: "}) {
        keep(progress.timed_out, number_after<std::int64_t>(line, key));
    }
    for (View const work : {"NCCL work: ", "work: "}) {
        std::string const name(work);
        keep(progress.enqueued, number_after<std::int64_t>(line, "ast enqueued " + name));
        keep(progress.completed, number_after<std::int64_t>(line, "ast completed " + name));
    }
}

}  // namespace

void read_watchdog(Watchdogs& ranks, View line) {
    auto const work = after(line, "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=");
    bool const progress = line.find("ast enqueued ") != View::npos;
    if (!work && !progress) return;
    auto const rank = rank_of(line);
    if (!rank || *rank < 0) return;
    if (ranks.size() >= kRanksMax && !ranks.contains(*rank)) return;
    if (work) read_timeout(ranks[*rank], line, *work);
    if (progress) read_progress(ranks[*rank], line);
}

}  // namespace osora::topology::doctor
