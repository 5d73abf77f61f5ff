#include "cli/cluster/doctor_text.hpp"

#include "base/text/text.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace osora::cli {
namespace {

using topology::doctor::Diagnosis;
using topology::doctor::Finding;
using topology::doctor::Severity;
using topology::doctor::SkippedRule;

constexpr int kWhereMin = 5, kWhereMax = 18;  // columns of "n11  "
constexpr int kWordColumns = 7;               // of "FAULT  "
constexpr std::size_t kSeenBytesMax = 800;    // of text that comes from outside

char const* word_of(Severity severity) {
    switch (severity) {
        case Severity::fault:
            return "FAULT";
        case Severity::warning:
            return "WARN";
        case Severity::info:
            break;
    }
    return "note";
}

int where_columns(Diagnosis const& diagnosis) {
    int columns = kWhereMin;
    for (auto const& each : diagnosis.findings) {
        int const needed = display_width(printable(each.where)) + 2;
        if (needed <= kWhereMax) columns = std::max(columns, needed);
    }
    return columns;
}

std::string finding_text(Finding const& finding, int where) {
    int const indent = where + kWordColumns;
    std::string const name = printable(finding.where);
    std::string head;
    if (display_width(name) + 2 > where) {
        head = filled(name, 0, kColumns) + std::string(static_cast<std::size_t>(where), ' ');
    } else {
        auto const pad = static_cast<std::size_t>(where - display_width(name));
        head = name + std::string(pad, ' ');
    }
    head += fmt::format("{:<{}}", word_of(finding.severity), kWordColumns);
    // The first line of the block begins where the head ends.
    std::string text =
        head +
        filled(printable(finding.title), indent, kColumns).substr(static_cast<std::size_t>(indent));
    for (auto const& [key, value] :
         {std::pair{"seen", &finding.seen}, {"effect", &finding.effect}, {"do", &finding.fix}}) {
        if (value->empty()) continue;
        text += filled(fmt::format("{}: {}", key, printable(value->substr(0, kSeenBytesMax))),
                       indent, kColumns);
    }
    return text;
}

/// "no RDMA NIC", or "12 no GPU, 7 no probe": the most frequent first.
std::string reasons_text(std::vector<SkippedRule> const& skipped) {
    constexpr std::size_t kShown = 4;
    std::vector<std::pair<std::string, int>> counts;
    for (auto const& each : skipped) {
        auto const found =
            std::ranges::find(counts, each.reason, &std::pair<std::string, int>::first);
        if (found == counts.end()) {
            counts.emplace_back(each.reason, 1);
        } else {
            ++found->second;
        }
    }
    if (counts.size() == 1) return counts[0].first;
    std::ranges::stable_sort(counts, std::greater(), &std::pair<std::string, int>::second);
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, counts.size()); ++i) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i].second, counts[i].first);
    }
    if (counts.size() > kShown) text += ", ...";
    return text;
}

}  // namespace

std::string doctor_summary(Diagnosis const& diagnosis) {
    int const faults = diagnosis.count(Severity::fault);
    int const found = faults + diagnosis.count(Severity::warning);
    int const notes = diagnosis.count(Severity::info);
    std::string text = found == 0 ? std::string("no findings") : counted(found, "finding");
    if (found > 0) text += ", " + counted(faults, "fault");
    if (notes > 0) text += ", " + counted(notes, "note");
    text += fmt::format(" · {} checked on {}", counted(diagnosis.rules_checked, "rule"),
                        counted(diagnosis.nodes, "node"));
    if (!diagnosis.skipped.empty()) {
        text += fmt::format(" · {} skipped ({})", diagnosis.skipped.size(),
                            reasons_text(diagnosis.skipped));
    }
    return text;
}

std::string doctor_text(Diagnosis const& diagnosis) {
    int const where = where_columns(diagnosis);
    std::string text;
    for (auto const& each : diagnosis.findings) text += finding_text(each, where);
    return text + filled(doctor_summary(diagnosis), 0, kColumns);
}

}  // namespace osora::cli
