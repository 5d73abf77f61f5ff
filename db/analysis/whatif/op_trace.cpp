// A row that cannot be read is counted, not guessed: its step then lacks an op, and comparisons
// leave the step out.
#include "db/analysis/whatif/op_trace.hpp"

#include "base/text/csv.hpp"
#include "base/text/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace osora::db::whatif {
namespace {

constexpr std::array<std::string_view, kOpKinds> kNames{"forward-compute",
                                                        "backward-compute",
                                                        "forward-send",
                                                        "forward-recv",
                                                        "backward-send",
                                                        "backward-recv",
                                                        "params-all-gather",
                                                        "grads-reduce-scatter",
                                                        "separate-grads-all-reduce",
                                                        "layernorm-grads-all-reduce",
                                                        "embedding-grads-all-reduce",
                                                        "optimizer-clip-main-grad",
                                                        "optimizer",
                                                        "gc"};
enum Column { step, dp_rank, stage, op, seq_id, model_chunk, start_us, dur_us, kColumns };
constexpr std::array<std::string_view, kColumns> kColumnNames{
    "step", "dp_rank", "stage", "op", "seq_id", "model_chunk", "start_us", "dur_us"};
constexpr std::array<std::string_view, 2> kCombined{"forward-send-backward-recv",
                                                    "backward-send-forward-recv"};
constexpr std::int64_t kStepMax = std::int64_t{1} << 53;
constexpr int kSequenceMax = 1 << 24;
constexpr int kChunkMax = 1 << 10;
constexpr double kTimeMax_us = 1e15;  // 31 years; microseconds stay exact to a quarter
constexpr int kUnknownNames = 16;     // number of distinct names kept

using Places = std::array<std::size_t, kColumns>;

Result<Places> places_of(CsvRow const& header) {
    Places places{};
    std::vector<std::string_view> missing;
    for (std::size_t column = 0; column < kColumns; ++column) {
        auto const found = std::ranges::find(header.fields, kColumnNames[column]);
        if (found == header.fields.end()) missing.push_back(kColumnNames[column]);
        places[column] = static_cast<std::size_t>(found - header.fields.begin());
    }
    if (missing.empty()) return places;
    return Error{Errc::invalid_input,
                 fmt::format("line 1: no column {}; a trace has {},mb_id", fmt::join(missing, ", "),
                             fmt::join(kColumnNames, ","))};
}

template <class T>
std::optional<T> number_of(std::string const& text, T low, T high) {
    T value{};
    char const* const end = text.data() + text.size();
    auto const parsed = std::from_chars(text.data(), end, value);
    bool const whole = parsed.ec == std::errc() && parsed.ptr == end;
    return whole && value >= low && value <= high ? std::optional<T>(value) : std::nullopt;
}

/// Reads rows into a trace.
class TraceReader {
public:
    TraceReader(JobShape const& shape, Places const& places) : shape_(shape), places_(places) {}

    Result<void> add(CsvRow const& row) {
        if (!row.fault.empty()) return unreadable(row, row.fault);
        if (row.fields.size() <= *std::ranges::max_element(places_)) {
            return unreadable(row, fmt::format("{} fields", row.fields.size()));
        }
        std::string const& name = field(row, op);
        auto const kind = std::ranges::find(kNames, name);
        if (kind == kNames.end()) return unknown(row, name);
        TraceOp traced;
        traced.kind = static_cast<OpKind>(kind - kNames.begin());
        if (auto const fault = read_numbers(row, traced); !fault.empty()) {
            return unreadable(row, fault);
        }
        if (traced.dp_rank >= shape_.dp_size) return beyond(row, dp_rank, shape_.dp_size);
        if (traced.stage >= shape_.pp_size) return beyond(row, stage, shape_.pp_size);
        trace.ops.push_back(traced);
        return {};
    }

    OpTrace trace;

private:
    std::string const& field(CsvRow const& row, Column column) const {
        return row.fields[places_[column]];
    }

    /// Returns why the row cannot be read; "": it was read.
    std::string read_numbers(CsvRow const& row, TraceOp& into) const {
        auto const step_number = number_of<std::int64_t>(field(row, step), 0, kStepMax);
        if (!step_number) return not_a_number(row, step);
        into.step = *step_number;
        struct Place {
            Column column;
            int low, high;
            int* into;
        };
        int const any = kSequenceMax;
        for (Place const& place :
             {Place{dp_rank, 0, any, &into.dp_rank}, Place{stage, 0, any, &into.stage},
              Place{seq_id, 0, kSequenceMax, &into.seq_id},
              Place{model_chunk, -1, kChunkMax, &into.model_chunk}}) {
            auto const value = number_of<int>(field(row, place.column), place.low, place.high);
            if (!value) return not_a_number(row, place.column);
            *place.into = *value;
        }
        auto const start = number_of<double>(field(row, start_us), -kTimeMax_us, kTimeMax_us);
        if (!start) return not_a_number(row, start_us);
        double const least = is_communication(into.kind) ? -kClockError_s * 1e6 : 0.0;
        auto const duration = number_of<double>(field(row, dur_us), least, kTimeMax_us);
        if (!duration) return not_a_number(row, dur_us);
        into.start_s = *start / 1e6;
        into.duration_s = *duration / 1e6;
        return {};
    }

    std::string not_a_number(CsvRow const& row, Column column) const {
        return fmt::format("{} = '{:.20}'", kColumnNames[column], field(row, column));
    }

    Result<void> unreadable(CsvRow const& row, std::string const& why) {
        if (trace.rows_unreadable++ == 0) {
            trace.first_fault = fmt::format("line {}: {}", row.line, why);
        }
        return {};
    }

    Result<void> unknown(CsvRow const& row, std::string const& name) {
        if (std::ranges::find(kCombined, name) != kCombined.end()) {
            return Error{Errc::invalid_input,
                         fmt::format("line {}: {}: a send and a receive in one op cannot be "
                                     "replayed; trace them apart",
                                     row.line, name)};
        }
        // A misspelt op is a damaged row; another name is an op that the graph does not have.
        std::vector<std::string_view> const names(kNames.begin(), kNames.end());
        bool const damaged = name.empty() || name.size() > 64 || nearest_name(name, names);
        if (damaged) return unreadable(row, fmt::format("op = '{:.30}'", name));
        if (trace.unknown_ops.size() < kUnknownNames || trace.unknown_ops.contains(name)) {
            ++trace.unknown_ops[name];
        }
        return {};
    }

    Result<void> beyond(CsvRow const& row, Column column, int size) const {
        return Error{Errc::invalid_input,
                     fmt::format("line {}: {} {}, but the meta file says {}_size {}", row.line,
                                 kColumnNames[column], field(row, column),
                                 column == dp_rank ? "dp" : "pp", size)};
    }

    JobShape const& shape_;
    Places const& places_;
};

}  // namespace

std::string_view name_of(OpKind kind) {
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view type_of(OpKind kind) {
    if (kind == OpKind::forward_send || kind == OpKind::forward_recv) return "forward-pp-comm";
    if (kind == OpKind::backward_send || kind == OpKind::backward_recv) return "backward-pp-comm";
    return name_of(kind);
}

bool is_compute(OpKind kind) {
    return kind == OpKind::forward_compute || kind == OpKind::backward_compute;
}

bool is_communication(OpKind kind) {
    return kind >= OpKind::forward_send && kind <= OpKind::optimizer_clip_main_grad;
}

Result<OpTrace> read_op_trace(std::string_view csv, JobShape const& shape) {
    CsvReader rows(csv);
    auto const header = rows.next();
    if (!header) return Error{Errc::invalid_input, "it is empty"};
    OSORA_TRY(auto const places, places_of(*header));
    TraceReader reader(shape, places);
    while (auto const row = rows.next()) OSORA_TRY_VOID(reader.add(*row));
    if (!reader.trace.ops.empty()) return std::move(reader.trace);
    return Error{Errc::invalid_input, reader.trace.rows_unreadable == 0
                                          ? std::string("it has no op that a step graph knows")
                                          : "no row can be read; " + reader.trace.first_fault};
}

}  // namespace osora::db::whatif
