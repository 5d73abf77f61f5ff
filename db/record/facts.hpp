// Pure: facts about a run as flat key = value sets, the form in which two runs are compared.
#pragma once

#include "db/record/run_record.hpp"

#include <map>
#include <string>
#include <string_view>

namespace osora::db {

/// {"a": {"b": 1}, "c": [true]} -> a.b = 1, c[0] = true. Empty containers keep their brackets.
[[nodiscard]] Facts flatten(protocol::json::value const& value);

/// Names in capitals are environment variables; names that do not imply a kind get that of their
/// source: software from a submission or a worker, hardware from an agent.
[[nodiscard]] FactKind kind_of_fact(std::string_view key, FactKind otherwise = FactKind::software);

/// Adds one source's value. If sources differ, stores their distinct values, sorted and joined by "
/// | " (the first 16 of them), so that the order of the sources does not matter.
void merge_fact(Facts& facts, std::string const& key, std::string const& value);

/// Two sets of the same kind have the same hash only if their keys and values are equal.
[[nodiscard]] std::string fingerprint_sha256(FactKind kind, Facts const& facts);

/// What makes runs of one name comparable: job, model, buckets and data of a resolved run file,
/// without its [[stage]] tables, whose batches only its plan has.
[[nodiscard]] Facts work_of(protocol::json::value const& config);

/// What the stages of a plan add to the work of its run: where each begins, and its buckets with
/// their batches. Empty for a plan without [[stage]].
[[nodiscard]] Facts stage_work_of(protocol::json::value const& plan);
/// With the data of the stages. `config`: as flatten() made it; `plan`: plan::PlanDecision as JSON.
[[nodiscard]] Facts work_with_stages(Facts const& config, protocol::json::value const& plan);
/// The work that a run would have without its [[stage]] tables.
[[nodiscard]] Facts without_stages(Facts work);
/// The batches of its stages' buckets, and the work without them: weak scaling changes only these.
[[nodiscard]] std::vector<int> stage_batches(Facts const& work);
[[nodiscard]] Facts without_stage_batches(Facts work);
/// Where the last stage of this work begins; 0: it has none.
[[nodiscard]] int last_stage_step(Facts const& work);

/// "model.arch stdit3-tiny / mmdit-tiny, bucket[1] none / 64 x 8": the differences of two sets, at
/// most `limit` keys and then the number of further ones.
[[nodiscard]] std::string describe_difference(Facts const& left, Facts const& right,
                                              std::size_t limit = 3);

}  // namespace osora::db
