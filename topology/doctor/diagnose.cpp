// Runs the table, merges findings that differ only in their node, ranks them.
#include "base/host_list.hpp"
#include "base/text/text.hpp"
#include "topology/doctor/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace osora::topology::doctor {
namespace {

constexpr std::size_t kExcludedShown = 16;

std::string exclusion(std::vector<std::string> const& nodes) {
    if (nodes.empty() || nodes.size() > kExcludedShown) return "with faults.exclude_nodes";
    std::string list;
    for (auto const& each : nodes) list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", each);
    return fmt::format("(--set faults.exclude_nodes='[{}]')", list);
}

/// A finding of several nodes, until all are known.
struct Folded {
    Finding finding;
    std::size_t alike = 0;  // nodes whose `seen` differs from the first one's
};

class Folder {
public:
    void add(Finding finding) {
        auto const key = std::tuple(finding.severity, finding.title, finding.fix, finding.effect);
        auto const [at, is_new] = index_.emplace(key, folded_.size());
        if (is_new) {
            folded_.push_back({std::move(finding)});
            return;
        }
        Folded& into = folded_[at->second];
        if (into.finding.seen != finding.seen) ++into.alike;
        into.finding.impact = std::max(into.finding.impact, finding.impact);
        std::ranges::move(finding.nodes, std::back_inserter(into.finding.nodes));
    }

    [[nodiscard]] std::vector<Finding> take(Rule const& rule, std::size_t nodes) {
        std::vector<Finding> findings;
        for (auto& [finding, alike] : folded_) {
            finding.rule = rule.id;
            if (finding.threads.empty()) {
                auto const threads = words_of(rule.threads);
                finding.threads.assign(threads.begin(), threads.end());
            }
            // Nodes are in the order of the evidence; one may have several similar findings.
            auto& names = finding.nodes;
            std::vector<std::string> once;
            std::set<std::string> met;
            for (auto& each : names) {
                if (met.insert(each).second) once.push_back(std::move(each));
            }
            names = std::move(once);
            bool const all = names.empty() || (nodes > 2 && names.size() == nodes);
            bool const both = nodes == 2 && names.size() == 2;
            finding.where = all ? "all" : both ? join_hosts(names) : fold_hosts(names);
            if (alike > 0) finding.seen += fmt::format("; and the like on {} more", alike);
            if (auto const at = finding.fix.find(kExclude); at != std::string::npos) {
                finding.fix.replace(at, std::string_view(kExclude).size(), exclusion(names));
            }
            findings.push_back(std::move(finding));
        }
        return findings;
    }

private:
    using Key = std::tuple<Severity, std::string, std::string, std::string>;
    std::vector<Folded> folded_;
    std::map<Key, std::size_t> index_;
};

}  // namespace

int Diagnosis::count(Severity severity) const {
    return static_cast<int>(std::ranges::count(findings, severity, &Finding::severity));
}

Diagnosis diagnose(Evidence const& evidence) {
    return diagnose(evidence, rule_table());
}

Diagnosis diagnose(Evidence const& evidence, std::span<Rule const> rules) {
    Diagnosis diagnosis;
    diagnosis.nodes = static_cast<int>(evidence.nodes.size());
    for (Rule const& rule : rules) {
        Outcome outcome = rule.check(evidence);
        if (!outcome.skipped.empty()) {
            diagnosis.skipped.push_back({std::string(rule.id), std::move(outcome.skipped)});
            continue;
        }
        ++diagnosis.rules_checked;
        Folder folder;
        for (Finding& each : outcome.findings) folder.add(std::move(each));
        std::ranges::move(folder.take(rule, evidence.nodes.size()),
                          std::back_inserter(diagnosis.findings));
    }
    std::ranges::stable_sort(diagnosis.findings, [](Finding const& a, Finding const& b) {
        return std::tuple(a.severity, -a.impact) < std::tuple(b.severity, -b.impact);
    });
    return diagnosis;
}

}  // namespace osora::topology::doctor
