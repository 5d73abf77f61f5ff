#include "daemon/metrics/open_metrics.hpp"

#include "base/text/printable.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace osora::daemon {
namespace {

/// Escaped as the specification's ABNF wants it inside quotes and in a HELP line.
std::string escaped(std::string_view text) {
    std::string out;
    for (char const each : printable(text, "\n")) {
        if (each == '\n') {
            out += "\\n";
            continue;
        }
        if (each == '\\' || each == '"') out += '\\';
        out += each;
    }
    return out;
}

std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    return fmt::format("{}", value);
}

std::string_view suffix_of(MetricType type) {
    if (type == MetricType::counter) return "_total";
    return type == MetricType::info ? "_info" : "";
}

/// The older format knows neither info nor stateset.
std::string_view type_name(MetricType type, MetricsFormat format) {
    bool const is_new = format == MetricsFormat::open_metrics;
    switch (type) {
        case MetricType::counter:
            return "counter";
        case MetricType::summary:
            return "summary";
        case MetricType::info:
            return is_new ? "info" : "gauge";
        case MetricType::stateset:
            return is_new ? "stateset" : "gauge";
        case MetricType::gauge:
            break;
    }
    return "gauge";
}

std::string labels_text(MetricLabels const& common, MetricLabels const& own) {
    std::string text;
    for (auto const* list : {&common, &own}) {
        for (auto const& [name, value] : *list) {
            text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped(value));
        }
    }
    return text.empty() ? text : "{" + text + "}";
}

/// "text/plain; version=0.0.4; q=0.3" of an Accept header; nullopt: not one of ours.
struct MediaRange {
    std::string type;
    double quality = 1;
};
std::optional<MediaRange> media_range(std::string_view text) {
    auto const parts = split(text, ';');
    MediaRange range{.type = lower(trimmed(parts.front()))};
    bool const is_open = range.type == "application/openmetrics-text";
    for (std::size_t i = 1; i < parts.size(); ++i) {
        auto const part = trimmed(parts[i]);
        auto const equals = part.find('=');
        if (equals == std::string_view::npos) continue;
        auto const name = lower(trimmed(part.substr(0, equals)));
        auto const value = trimmed(part.substr(equals + 1));
        if (name == "q") {
            auto const quality = whole_number<double>(value);
            if (!quality || !(*quality >= 0 && *quality <= 1)) return {};
            range.quality = *quality;
        }
        bool const has_version = !is_open || value == "1.0.0" || value == "0.0.1";
        bool const has_old_version = range.type != "text/plain" || value == "0.0.4";
        if (name == "version" && !(has_version && has_old_version)) return {};
    }
    return range;
}

}  // namespace

std::string metrics_text(std::vector<MetricFamily> const& families, MetricLabels const& common,
                         MetricsFormat format) {
    bool const is_new = format == MetricsFormat::open_metrics;
    std::string text;
    for (auto const& family : families) {
        if (family.samples.empty()) continue;
        auto const sampled = family.name + std::string(suffix_of(family.type));
        auto const& described = is_new ? family.name : sampled;
        text += fmt::format("# TYPE {} {}\n", described, type_name(family.type, format));
        if (is_new && !family.unit.empty()) {
            text += fmt::format("# UNIT {} {}\n", described, family.unit);
        }
        text += fmt::format("# HELP {} {}\n", described, escaped(family.help));
        for (auto const& sample : family.samples) {
            text += fmt::format("{}{}{} {}\n", sampled, sample.suffix,
                                labels_text(common, sample.labels), number(sample.value));
        }
    }
    if (is_new) text += "# EOF\n";
    return text;
}

MetricsFormat format_for(std::string_view accept) {
    double open = -1, plain = -1;  // not named
    for (auto const part : split(accept, ',')) {
        auto const range = media_range(part);
        if (!range) continue;
        if (range->type == "application/openmetrics-text") open = std::max(open, range->quality);
        if (range->type == "text/plain") plain = std::max(plain, range->quality);
    }
    return plain > 0 && plain > open ? MetricsFormat::prometheus : MetricsFormat::open_metrics;
}

std::string_view content_type(MetricsFormat format) {
    return format == MetricsFormat::open_metrics
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace osora::daemon
