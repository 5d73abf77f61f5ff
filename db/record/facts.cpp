// Facts are compared as text, so every value has one spelling: JSON's, without quotes for strings.
#include "db/record/facts.hpp"

#include "base/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace osora::db {
namespace {

namespace json = protocol::json;

constexpr std::size_t kDistinctValuesMax = 16;
constexpr std::string_view kJoin = " | ";

void flatten_into(std::string const& path, json::value const& value, Facts& into) {
    if (auto const* object = value.if_object(); object != nullptr && !object->empty()) {
        for (auto const& [key, each] : *object) {
            flatten_into(path.empty() ? std::string(key) : path + "." + std::string(key), each,
                         into);
        }
    } else if (auto const* array = value.if_array(); array != nullptr && !array->empty()) {
        for (std::size_t i = 0; i < array->size(); ++i) {
            flatten_into(fmt::format("{}[{}]", path, i), (*array)[i], into);
        }
    } else if (value.is_string()) {
        into[path] = std::string(value.get_string());
    } else {
        into[path] = json::serialize(value);
    }
}

std::set<std::string> split_values(std::string_view joined) {
    std::set<std::string> values;
    for (std::size_t end = joined.find(kJoin); end != joined.npos; end = joined.find(kJoin)) {
        values.emplace(joined.substr(0, end));
        joined.remove_prefix(end + kJoin.size());
    }
    values.emplace(joined);
    return values;
}

std::string value_or(Facts const& facts, std::string const& key, std::string fallback) {
    auto const found = facts.find(key);
    return found == facts.end() ? std::move(fallback) : found->second;
}

struct WorkLayout {
    std::vector<PlannedBucket> buckets;
};
struct WorkStage {
    int at_step = 0;
    WorkLayout chosen;
};
struct WorkStages {
    std::vector<WorkStage> stages;
};
BOOST_DESCRIBE_STRUCT(WorkLayout, (), (buckets))
BOOST_DESCRIBE_STRUCT(WorkStage, (), (at_step, chosen))
BOOST_DESCRIBE_STRUCT(WorkStages, (), (stages))

constexpr std::string_view kStagePrefix = "stage[", kStageBegin = "].at_step";
constexpr std::string_view kStageBucket = "].bucket[", kStageBatch = ", batch ";

/// Where the batch begins in the value of a stage's bucket; npos: it is no such fact.
std::size_t batch_place(std::string const& key, std::string const& value) {
    bool const is_bucket =
        key.starts_with(kStagePrefix) && key.find(kStageBucket) != std::string::npos;
    return is_bucket ? value.rfind(kStageBatch) : std::string::npos;
}

/// Keys of the resolved run file that a step's work depends on, as prefixes.
constexpr std::array<std::string_view, 7> kWorkKeys{
    "run.job",         "model.arch",     "data.manifest", "data.latents",
    "text.embeddings", "worker.command", "bucket["};

/// The number that begins there; 0: there is none.
int number_at(std::string const& text, std::size_t place) {
    int number = 0;
    std::from_chars(text.data() + place, text.data() + text.size(), number);
    return number;
}

bool is_work(std::string const& key, std::string const& value) {
    if (key.ends_with(".micro_batch_size")) return false;  // part of the layout, not of the work
    // For rehearsals; older versions did not write it.
    if (key.ends_with("].compute_s") && value == "auto") return false;
    return std::ranges::any_of(kWorkKeys, [&](auto prefix) { return key.starts_with(prefix); });
}

/// Data of a stage; journals of older versions do not have it.
bool is_stage_data(std::string const& key) {
    return key.starts_with(kStagePrefix) &&
           (key.ends_with("].data.manifest") || key.ends_with("].data.latents"));
}

}  // namespace

Facts flatten(json::value const& value) {
    Facts facts;
    if (!value.is_null()) flatten_into("", value, facts);
    return facts;
}

FactKind kind_of_fact(std::string_view key, FactKind otherwise) {
    bool const capitals = std::ranges::all_of(
        key, [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
    if (capitals) return FactKind::env;
    for (std::string_view const known : {"os", "kernel", "host.kernel"}) {
        if (key == known) return FactKind::software;
    }
    if (key == "device" || key.starts_with("host.")) return FactKind::hardware;
    return otherwise;
}

void merge_fact(Facts& facts, std::string const& key, std::string const& value) {
    auto const [place, is_new] = facts.emplace(key, value);
    if (is_new || place->second == value) return;
    auto values = split_values(place->second);
    values.merge(split_values(value));
    std::string joined;
    std::size_t kept = 0;
    for (auto const& each : values) {
        if (kept++ == kDistinctValuesMax) break;
        if (!joined.empty()) joined += kJoin;
        joined += each;
    }
    place->second = std::move(joined);
}

std::string fingerprint_sha256(FactKind kind, Facts const& facts) {
    std::string text(boost::describe::enum_to_string(kind, "?"));
    for (auto const& [key, value] : facts) {
        text += fmt::format("\n{}:{}={}:{}", key.size(), key, value.size(), value);
    }
    return sha256_hex(text);
}

Facts work_of(json::value const& config) {
    return work_with_stages(flatten(config), nullptr);
}

Facts stage_work_of(json::value const& plan) {
    Facts work;
    auto const parsed = protocol::from_json<WorkStages>(plan);
    if (parsed.has_error()) return work;
    for (std::size_t i = 0; i < parsed->stages.size(); ++i) {
        auto const& stage = parsed->stages[i];
        work[fmt::format("{}{}{}", kStagePrefix, i, kStageBegin)] = std::to_string(stage.at_step);
        for (std::size_t k = 0; k < stage.chosen.buckets.size(); ++k) {
            auto const& bucket = stage.chosen.buckets[k];
            work[fmt::format("{}{}{}{}]", kStagePrefix, i, kStageBucket, k)] =
                fmt::format("{} x {}{}{}", bucket.resolution, bucket.num_frames, kStageBatch,
                            bucket.global_batch_size);
        }
    }
    return work;
}

Facts work_with_stages(Facts const& config, json::value const& plan) {
    Facts work = stage_work_of(plan);
    bool const has_stages = !work.empty();
    for (auto const& [key, value] : config) {
        if (is_work(key, value) || (has_stages && is_stage_data(key))) work.emplace(key, value);
    }
    return work;
}

Facts without_stages(Facts work) {
    std::erase_if(work, [](auto const& fact) { return fact.first.starts_with(kStagePrefix); });
    return work;
}

std::vector<int> stage_batches(Facts const& work) {
    std::map<std::pair<int, int>, int> by_place;  // stage, bucket
    for (auto const& [key, value] : work) {
        auto const at = batch_place(key, value);
        if (at == std::string::npos) continue;
        auto const bucket_at = key.find(kStageBucket) + kStageBucket.size();
        std::pair const place{number_at(key, kStagePrefix.size()), number_at(key, bucket_at)};
        by_place[place] = number_at(value, at + kStageBatch.size());
    }
    std::vector<int> batches;
    for (auto const& [place, batch] : by_place) batches.push_back(batch);
    return batches;
}

Facts without_stage_batches(Facts work) {
    for (auto& [key, value] : work) {
        auto const at = batch_place(key, value);
        if (at != std::string::npos) value.resize(at);
    }
    return work;
}

int last_stage_step(Facts const& work) {
    int last = 0;
    for (auto const& [key, value] : work) {
        if (!key.starts_with(kStagePrefix) || !key.ends_with(kStageBegin)) continue;
        int at_step = 0;
        std::from_chars(value.data(), value.data() + value.size(), at_step);
        last = std::max(last, at_step);
    }
    return last;
}

std::string describe_difference(Facts const& left, Facts const& right, std::size_t limit) {
    std::set<std::string> keys;
    for (auto const& [key, value] : left) keys.insert(key);
    for (auto const& [key, value] : right) keys.insert(key);
    std::string text;
    std::size_t differing = 0;
    for (auto const& key : keys) {
        auto const a = value_or(left, key, "none");
        auto const b = value_or(right, key, "none");
        if (a == b || ++differing > limit) continue;
        text += fmt::format("{}{} {} / {}", text.empty() ? "" : ", ", key, a, b);
    }
    if (differing > limit) text += fmt::format(", {} more", differing - limit);
    return text;
}

}  // namespace osora::db
