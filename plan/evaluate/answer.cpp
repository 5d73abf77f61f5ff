// The JSON answer to a row.
#include "base/text/utf8.hpp"
#include "plan/evaluate/evaluate.hpp"
#include "plan/evaluate/layout_rules.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace osora::plan {
namespace {

namespace json = boost::json;

constexpr std::size_t kIdLength = 1024;

Result<json::value> parsed_json(std::string_view text) {
    json::parse_options options;
    options.max_depth = 64;
    boost::system::error_code error;
    json::value value = json::parse(text, error, {}, options);
    if (error) return Error{Errc::invalid_input, "JSON: " + error.message()};
    return value;
}

/// A scalar as JSON; null for any other.
std::string scalar(json::value const& value) {
    if (value.is_object() || value.is_array()) return "null";
    if (value.is_double() && !std::isfinite(value.get_double())) return "null";
    return json::serialize(value);
}

std::string id_of(json::object const& row) {
    auto const* const id = row.if_contains("id");
    return id == nullptr ? "null" : scalar(*id);
}

/// The id of a line that is not JSON: the value after the first "id":, if it is a scalar.
std::string id_in(std::string_view line) {
    auto const key = line.find("\"id\"");
    if (key == std::string_view::npos) return "null";
    auto const colon = line.find_first_not_of(" \t", key + 4);
    if (colon == std::string_view::npos || line[colon] != ':') return "null";
    auto const start = line.find_first_not_of(" \t", colon + 1);
    if (start == std::string_view::npos) return "null";
    std::string_view rest = line.substr(start, kIdLength);
    auto const end = rest.front() == '"' ? rest.find('"', 1) : rest.find_first_of(",} \t");
    if (end == std::string_view::npos) return "null";
    auto const id = parsed_json(rest.substr(0, rest.front() == '"' ? end + 1 : end));
    return id.has_error() ? "null" : scalar(*id);
}

std::string refusal(std::string_view id, std::string_view message) {
    std::string const text = is_utf8(message) ? std::string(message) : "bytes that are not UTF-8";
    return fmt::format("{{\"id\":{},\"error\":{}}}", id,
                       json::serialize(json::value(json::string(text))));
}

/// The effect of measured runs on the answer, if there are any.
std::string correction(EvaluateRow const& row, MeasuredCorrection const& by) {
    if (row.measured.empty() && row.left_out.empty()) return "";
    return fmt::format(
        ",\"calibration\":{{\"runs\":{},\"compute\":{:.4g},\"comm\":{:.4g},\"memory\":{:.4g},"
        "\"left_out\":{}}}",
        row.measured.size(), by.compute, by.comm, by.memory,
        json::serialize(json::value_from(row.left_out)));
}

/// Members of the row that nothing reads, which may be misspelt.
std::string ignored(EvaluateRow const& row) {
    if (row.ignored.empty()) return "";
    return fmt::format(",\"ignored\":{}", json::serialize(json::value_from(row.ignored)));
}

std::string answer(std::string_view id, Evaluation const& found, std::string_view more) {
    StepParts const& p = found.parts;
    return fmt::format(
        "{{\"id\":{},\"step_time_s\":{:.9g},\"parts\":{{\"compute_s\":{:.9g},\"encoder_s\":{:.9g},"
        "\"tp_comm_s\":{:.9g},\"sp_comm_s\":{:.9g},\"pp_comm_s\":{:.9g},\"dp_comm_s\":{:.9g},"
        "\"exposed_comm_s\":{:.9g},\"bubble_s\":{:.9g},\"optimizer_s\":{:.9g},\"launch_s\":{:.9g}}}"
        ","
        "\"peak_memory_gib\":{:.6g},\"fits\":{}{}}}",
        id, found.step_time_s(), p.compute_s, p.encoder_s, p.tp_comm_s, p.sp_comm_s, p.pp_comm_s,
        p.dp_comm_s, p.exposed_comm_s, p.bubble_s, p.optimizer_s, p.launch_s, found.peak_memory_gib,
        found.fits, more);
}

}  // namespace

std::string error_line(std::string_view message) {
    return refusal("null", message);
}

std::string evaluate_line(std::string_view line, HardwareTable const& hardware) {
    auto const value = parsed_json(line);
    if (value.has_error()) return refusal(id_in(line), value.error().message);
    auto const* const object = value->if_object();
    if (object == nullptr) return error_line("not a JSON object; valid: one object a line");
    std::string const id = id_of(*object);
    auto const row = read_row(*object, hardware);
    if (row.has_error()) return refusal(id, row.error().message);
    if (auto const broken = row_violations(*row); !broken.empty()) {
        LayoutViolation const& first = broken.front();
        return refusal(id,
                       fmt::format("{}: {} (rule: {})", first.key, first.message(), first.rule));
    }
    Evaluation const found = evaluate(*row);
    if (!std::isfinite(found.step_time_s()) || !std::isfinite(found.peak_memory_gib)) {
        return refusal(id, "the sizes are beyond what can be counted; take smaller ones");
    }
    return answer(id, found, correction(*row, found.by) + ignored(*row));
}

}  // namespace osora::plan
