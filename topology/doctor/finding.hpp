// The doctor's results: findings, each with what was seen, its effect and a fix.
#pragma once

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::topology::doctor {

enum class Severity { fault, warning, info };
BOOST_DESCRIBE_ENUM(Severity, fault, warning, info)

struct Finding {
    Severity severity = Severity::info;
    std::string rule = {};                // filled by diagnose()
    std::vector<std::string> nodes = {};  // nodes concerned; empty: the cluster or the run as a
                                          // whole
    std::string where = {};  // the same, folded by diagnose(): "n[1-3]", "n1,n2", "all"
    std::string title = {};
    std::string seen = {}, effect = {};
    std::string fix = {};  // kExclude in it is replaced by the setting that excludes the nodes
    std::vector<std::string> threads = {};  // "nccl#1580"; by diagnose()
    double impact = 0;  // share of the speed that is lost, approximately: [0, 1]; a run that fails:
                        // 1
};

/// Placeholder in Finding::fix for "--set faults.exclude_nodes='["n11"]'".
inline constexpr char const* kExclude = "{exclude}";

struct SkippedRule {
    std::string rule, reason;
};

struct Diagnosis {
    std::vector<Finding> findings;  // the worst first
    std::vector<SkippedRule> skipped;
    int rules_checked = 0;
    int nodes = 0;

    [[nodiscard]] int count(Severity severity) const;
};

BOOST_DESCRIBE_STRUCT(SkippedRule, (), (rule, reason))

}  // namespace osora::topology::doctor
