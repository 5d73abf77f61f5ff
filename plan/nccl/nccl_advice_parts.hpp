// Private to plan/: the steps of advise_nccl().
#pragma once

#include "plan/nccl/hca_choice.hpp"
#include "plan/nccl/interface_choice.hpp"
#include "plan/nccl/nccl_advice.hpp"
#include "topology/nccl/nccl_catalogue.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

/// Input of the rules, computed once.
struct AdviceContext {
    AdviceInputs const& in;
    InterfaceChoice interfaces;
    HcaChoice hcas;
    std::vector<std::string> virtual_nodes;  // whose PCIe tree a hypervisor hides

    bool cards_known = false;  // of every node

    [[nodiscard]] bool is_sockets_only() const {
        return cards_known && hcas.nodes.empty() && !hcas.efa;
    }
    /// Whether the run's NCCL may be of this version or later.
    [[nodiscard]] bool may_be_since(int version) const {
        return in.nccl_version == 0 || in.nccl_version >= version;
    }
};

[[nodiscard]] AdviceContext look_at(AdviceInputs const& inputs);

/// Settings that follow from probe and facts, and osora's defaults; ignores the user's.
[[nodiscard]] std::vector<AdvisedSetting> derived_settings(AdviceContext const& context,
                                                           std::vector<std::string>& warnings);

/// Settings worth measuring, except those that the user has set.
[[nodiscard]] std::vector<SettingCandidate> candidates_of(AdviceContext const& context);

/// Problems of a value that somebody else chose; `whose`: "run file: r.toml:4".
void check_foreign(AdviceContext const& context, topology::InheritedSetting const& setting,
                   std::vector<std::string> const& nodes, std::vector<std::string>& warnings);
/// Problems of values that are wrong only in combination.
void check_together(std::map<std::string, std::string> const& values,
                    std::vector<std::string>& warnings);

/// The class of a name as a letter, '-' if it is unknown.
[[nodiscard]] char class_of(std::string_view name);

}  // namespace osora::plan
