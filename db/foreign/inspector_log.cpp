#include "db/foreign/inspector_log.hpp"

#include "base/text/text.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>

namespace osora::db {
namespace {

using namespace protocol;

constexpr int kDepthMax = 32;
constexpr std::size_t kClassesMax = 4096;

struct InspectorHeader {
    std::string id;
    int rank = 0, n_ranks = 0, nnodes = 0;
};
struct InspectorMetadata {
    std::string inspector_output_format_version, git_rev, hostname;
    std::int64_t dump_timestamp_us = 0, pid = 0;
};
struct CollectivePerformance {
    std::string coll;
    std::int64_t coll_msg_size_bytes = 0;
    double coll_exec_time_us = 0;
};
struct InspectorEntry {
    InspectorHeader header;
    InspectorMetadata metadata;
    std::optional<CollectivePerformance> coll_perf;
};
BOOST_DESCRIBE_STRUCT(InspectorHeader, (), (id, rank, n_ranks, nnodes))
BOOST_DESCRIBE_STRUCT(InspectorMetadata, (),
                      (inspector_output_format_version, git_rev, hostname, dump_timestamp_us, pid))
BOOST_DESCRIBE_STRUCT(CollectivePerformance, (), (coll, coll_msg_size_bytes, coll_exec_time_us))
BOOST_DESCRIBE_STRUCT(InspectorEntry, (), (header, metadata, coll_perf))

/// "ReduceScatter" -> "reduce_scatter", as probes name it.
std::string collective_name(std::string_view name) {
    std::string text;
    for (char const c : name) {
        bool const capital = c >= 'A' && c <= 'Z';
        if (capital && !text.empty()) text += '_';
        text += static_cast<char>(capital ? c - 'A' + 'a' : c);
    }
    return text == "all_to_all" || text == "allto_all" ? "all_to_all" : text;
}

std::string size_class(std::int64_t bytes) {
    auto const low = std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1)));
    return fmt::format("from {}", format_bytes(static_cast<std::int64_t>(low)));
}

Result<void> check_entry(InspectorEntry const& entry) {
    auto const& perf = *entry.coll_perf;
    bool const sane = entry.header.rank >= 0 && entry.header.n_ranks > 0 &&
                      entry.header.rank < entry.header.n_ranks && perf.coll_msg_size_bytes >= 0 &&
                      perf.coll_exec_time_us >= 0 && perf.coll_exec_time_us < 1e12 &&
                      entry.metadata.dump_timestamp_us > 0 && !perf.coll.empty();
    if (sane) return {};
    return Error{Errc::invalid_input, "rank, size, time or time stamp is out of range"};
}

}  // namespace

struct InspectorLogs::Sums {
    struct Node {
        std::set<std::int64_t> processes;
        std::map<std::tuple<std::string, int, std::string>, CollectiveCost> classes;
    };
    std::map<std::string, Node> nodes;  // by host
    std::set<std::string> versions;
    std::int64_t first_us = 0, last_us = 0;
    int others = 0, cut_off = 0;

    Result<void> take(json::value const& value) {
        OSORA_TRY(auto const entry, from_json<InspectorEntry>(value));
        if (!entry.coll_perf) {
            if (!value.as_object().contains("header"))
                return Error{Errc::invalid_input, "not of NCCL's inspector: no header"};
            ++others;
            return {};
        }
        OSORA_TRY_VOID(check_entry(entry));
        auto& node = nodes[entry.metadata.hostname];
        node.processes.insert(entry.metadata.pid);
        versions.insert(entry.metadata.inspector_output_format_version);
        auto const at_us = entry.metadata.dump_timestamp_us;
        first_us = first_us == 0 ? at_us : std::min(first_us, at_us);
        last_us = std::max(last_us, at_us);
        auto const& perf = *entry.coll_perf;
        auto const name = collective_name(perf.coll);
        auto const size = size_class(perf.coll_msg_size_bytes);
        std::tuple const key(name, entry.header.n_ranks, size);
        if (!node.classes.contains(key) && node.classes.size() >= kClassesMax)
            return Error{Errc::invalid_input, "more kinds of collectives than any program has"};
        auto& cost = node.classes[key];
        if (cost.calls == 0) {
            cost.name = fmt::format("{} {}, {}", name, size, counted(entry.header.n_ranks, "rank"));
            cost.collective = name;
            cost.backend = "nccl";
            cost.ranks = entry.header.n_ranks;
        }
        ++cost.calls;
        cost.bytes += perf.coll_msg_size_bytes;
        cost.seconds += perf.coll_exec_time_us * 1e-6;
        return {};
    }
};

InspectorLogs::InspectorLogs() : sums_(std::make_unique<Sums>()) {}
InspectorLogs::~InspectorLogs() = default;
InspectorLogs::InspectorLogs(InspectorLogs&&) noexcept = default;
InspectorLogs& InspectorLogs::operator=(InspectorLogs&&) noexcept = default;

bool is_inspector_log(std::string_view text) {
    auto const start = text.substr(0, 4096);
    auto const first = start.find_first_not_of(" \t\r\n");
    return first != start.npos && start[first] == '{' && start.find("\"header\"") != start.npos &&
           start.find("\"inspector_output_format_version\"") != start.npos;
}

Result<void> InspectorLogs::add(std::string_view text) {
    json::parse_options options;
    options.max_depth = kDepthMax;
    json::stream_parser parser({}, options);
    constexpr std::string_view kBetween = " \t\r\n,";
    for (std::int64_t number = 1;; ++number) {
        auto const next = text.find_first_not_of(kBetween);
        if (next == text.npos) return {};
        text.remove_prefix(next);
        boost::system::error_code error;
        auto const used = parser.write_some(text.data(), text.size(), error);
        if (error) {
            return Error{Errc::invalid_input,
                         fmt::format("object {}: {}", number, error.message())};
        }
        if (!parser.done()) {
            ++sums_->cut_off;
            return {};
        }
        text.remove_prefix(used);
        auto const taken = sums_->take(parser.release());
        if (taken.has_error()) return Error(taken.error()).in(fmt::format("object {}", number));
        parser.reset();
    }
}

Result<LoggedRun> InspectorLogs::result() && {
    Sums& sums = *sums_;
    if (sums.nodes.empty())
        return Error{Errc::invalid_input, "no collective (coll_perf) in any of the files"};
    LoggedRun run;
    run.kind = "nccl-inspector";
    run.workload = "nccl-inspector";
    run.started_us = sums.first_us;
    run.ended_us = sums.last_us;
    run.end = {Verdict::ok, 0, ""};
    for (auto& [host, node] : sums.nodes) {
        run.ranks_per_node = std::max(run.ranks_per_node, static_cast<int>(node.processes.size()));
        LoggedNode logged{.host = host, .facts = {}, .collectives = {}};
        for (auto& [key, cost] : node.classes) {
            auto const calls = cost.calls;
            logged.collectives.push_back({"", false, calls, std::move(cost)});
        }
        run.nodes.push_back(std::move(logged));
    }
    run.facts["nccl.inspector"] = fmt::format("{}", fmt::join(sums.versions, ", "));
    run.remarks.emplace_back(
        "collectives of NCCL's inspector: per call, not per step; it does not say what of them "
        "delays steps, so none is counted as exposed");
    if (sums.others > 0)
        run.remarks.push_back(
            fmt::format("{} without coll_perf left out", counted(sums.others, "object")));
    if (sums.cut_off > 0)
        run.remarks.push_back(
            fmt::format("{} cut off at the end of a file", counted(sums.cut_off, "object")));
    return run;
}

}  // namespace osora::db
