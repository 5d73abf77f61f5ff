// What tests of whole logs share: a folder of log files, and the faults that the doctor finds in
// it.
#pragma once

#include "tests/kit/recorded_tree.hpp"
#include "topology/doctor/collect.hpp"
#include "topology/doctor/rule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace osora::topology::doctor {

using LogFiles = std::map<std::string, std::string>;  // text by name

inline Evidence evidence_of(LogFiles const& files) {
    tests::RecordedTree const folder;
    for (auto const& [name, text] : files) folder.write(name, text);
    auto evidence = read_evidence(folder.root());
    EXPECT_TRUE(evidence.has_value()) << evidence.error().message;
    return evidence.has_value() ? std::move(*evidence) : Evidence{};
}

inline Diagnosis diagnosis_of(LogFiles const& files) {
    return diagnose(evidence_of(files));
}

inline std::vector<Finding> faults(Diagnosis const& diagnosis) {
    std::vector<Finding> list;
    for (auto const& each : diagnosis.findings) {
        if (each.severity == Severity::fault) list.push_back(each);
    }
    return list;
}

inline std::vector<Finding> faults_of(LogFiles const& files) {
    return faults(diagnosis_of(files));
}

/// The only finding of one log; `severity` is checked.
inline Finding finding_of(std::string const& text, Severity severity = Severity::fault) {
    auto const diagnosis = diagnosis_of({{"job.log", text}});
    EXPECT_EQ(diagnosis.findings.size(), 1u) << text;
    if (diagnosis.findings.empty()) return {};
    EXPECT_EQ(diagnosis.findings.front().severity, severity);
    return diagnosis.findings.front();
}

inline std::vector<std::string> names(Evidence const& evidence) {
    std::vector<std::string> list;
    for (auto const& each : evidence.nodes) list.push_back(each.name);
    std::ranges::sort(list);
    return list;
}

}  // namespace osora::topology::doctor
