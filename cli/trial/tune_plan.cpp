#include "cli/trial/tune_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace osora::cli {
namespace {

constexpr int kBucketStep = 4, kBucketMibMax = 1024;

bool is_bare_value(std::string_view value) {
    bool const number =
        !value.empty() && value.find_first_not_of("0123456789.") == std::string_view::npos;
    return number || value == "true" || value == "false";
}

/// Values of NCCL's settings and of variables are text, even if they look like numbers.
std::string toml_value(std::string_view section, std::string const& value) {
    bool const text = section == "nccl" || section == "worker.env" || !is_bare_value(value);
    return text ? fmt::format("\"{}\"", value) : value;
}

}  // namespace

std::vector<plan::TuneCandidate> own_candidates(plan::RunConfig const& config,
                                                plan::PlanDecision const& decision) {
    std::vector<plan::TuneCandidate> list;
    if (config.resources.nodes * config.resources.gpus_per_node < 2) return list;
    int const bucket_mib = decision.chosen.grad_bucket_mib;
    plan::TuneCandidate buckets{
        .key = "parallel.grad_bucket_mib",
        .values = {},
        .reason = "large buckets use the wire better, small ones start earlier"};
    if (bucket_mib / kBucketStep >= 1) {
        buckets.values.push_back(std::to_string(bucket_mib / kBucketStep));
    }
    if (bucket_mib * kBucketStep <= kBucketMibMax) {
        buckets.values.push_back(std::to_string(bucket_mib * kBucketStep));
    }
    list.push_back(std::move(buckets));
    list.push_back({.key = "parallel.overlap",
                    .values = {config.parallel.overlap ? "false" : "true"},
                    .reason = "overlap hides communication, and takes cores or SMs from compute"});
    return list;
}

std::vector<plan::TuneCandidate> nccl_candidates(
    std::vector<plan::SettingCandidate> const& advised) {
    std::vector<plan::TuneCandidate> list;
    for (auto const& each : advised) {
        plan::TuneCandidate candidate{
            .key = "nccl." + each.name, .values = each.values, .reason = each.reason};
        for (auto const& [name, value] : each.with) candidate.with["nccl." + name] = value;
        list.push_back(std::move(candidate));
    }
    return list;
}

Result<plan::TuneCandidate> named_candidate(std::string_view text) {
    auto const bad = [&](std::string_view why) {
        return Error{Errc::invalid_input, fmt::format("--try {}: {}; as in --try "
                                                      "parallel.grad_bucket_mib=10,50",
                                                      text, why)};
    };
    auto const equals = text.find('=');
    if (equals == std::string_view::npos) return bad("no value");
    plan::TuneCandidate candidate;
    candidate.key = text.substr(0, equals);
    candidate.reason = "named by you";
    if (candidate.key.find('.') == std::string::npos) return bad("no SECTION.KEY");
    std::string_view rest = text.substr(equals + 1);
    while (true) {
        auto const comma = rest.find(',');
        if (comma == 0 || rest.empty()) return bad("an empty value");
        candidate.values.emplace_back(rest.substr(0, comma));
        if (comma == std::string_view::npos) return candidate;
        rest.remove_prefix(comma + 1);
    }
}

std::vector<std::string> sets_of(plan::TuneSettings const& settings) {
    std::vector<std::string> sets;
    for (auto const& [key, value] : settings) sets.push_back(key + "=" + value);
    return sets;
}

void add_gain(protocol::json::object& into, plan::TuneVerdict const& verdict) {
    auto const share = [&verdict](double value) {
        return verdict.failure.empty() ? protocol::to_json(value) : protocol::json::value();
    };
    into["gain"] = share(verdict.decision.gain);
    into["low"] = share(verdict.decision.low);
    into["high"] = share(verdict.decision.high);
}

std::string run_file_lines(plan::TuneSettings const& kept) {
    std::map<std::string, std::string> sections;
    std::string rows;  // of tables that the run file has already
    for (auto const& [key, value] : kept) {
        if (key.find('[') != std::string::npos) {
            rows += fmt::format("# --set '{}={}'\n", key, value);
            continue;
        }
        auto const dot = key.rfind('.');
        std::string const section = key.substr(0, dot);
        sections[section] +=
            fmt::format("{} = {}\n", key.substr(dot + 1), toml_value(section, value));
    }
    std::string text;
    for (auto const& [section, lines] : sections) text += fmt::format("[{}]\n{}", section, lines);
    return text + rows;
}

}  // namespace osora::cli
