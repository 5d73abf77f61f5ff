// Derived settings, overridden by the user's, then advice on inherited ones.
#include "plan/nccl/nccl_advice.hpp"

#include "plan/few_names.hpp"
#include "plan/nccl/nccl_advice_parts.hpp"
#include "topology/nccl/nccl_value.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>

namespace osora::plan {
namespace {

using topology::InheritedSetting;
using topology::Machine;

/// Signs of a hypervisor: a paravirtual card, or several GPUs with no bridge above any.
bool is_virtual_machine(Machine const& machine) {
    constexpr std::array<std::string_view, 7> kDrivers{
        "ena", "gve", "hv_netvsc", "virtio_net", "vmxnet3", "xen_netfront", "mana"};
    bool const paravirtual = std::ranges::any_of(machine.nics, [&](auto const& nic) {
        return std::ranges::find(kDrivers, nic.driver) != kDrivers.end();
    });
    if (machine.gpus.size() < 2) return false;
    if (paravirtual) return true;
    if (machine.pci.empty()) return false;
    return std::ranges::all_of(machine.gpus, [&](auto const& gpu) {
        auto const found =
            std::ranges::find(machine.pci, gpu.address, &topology::PciDevice::address);
        return found != machine.pci.end() && found->parent.empty();
    });
}

/// An inherited setting, and the nodes that have it.
struct Spread {
    InheritedSetting setting;
    std::vector<std::string> nodes;
};

/// By name; the same setting from the same origin on several nodes is merged.
std::vector<Spread> spread_over_nodes(AdviceInputs const& inputs) {
    std::map<std::tuple<std::string, std::string, std::string, bool>, Spread> found;
    std::size_t named = 0;
    for (NodeInherited const& node : inputs.inherited) {
        if (!node.node.empty()) ++named;
        for (InheritedSetting const& each : node.settings) {
            auto& spread = found[{each.name, each.value, each.origin, each.effective}];
            spread.setting = each;
            if (!node.node.empty()) spread.nodes.push_back(node.node);
        }
    }
    std::vector<Spread> list;
    for (auto& [key, each] : found) {
        bool const everywhere =
            each.nodes.size() == named && static_cast<int>(named) >= inputs.nodes;
        if (everywhere) each.nodes.clear();
        list.push_back(std::move(each));
    }
    return list;
}

std::string shown(AdvisedSetting const& setting) {
    return fmt::format("{} ({})", topology::shown_value(setting.value), setting.origin);
}

/// What to do about an inherited setting; `setting`: osora's or the user's of that name, or null.
std::string advice_for(Spread const& spread, AdvisedSetting const* setting, bool gpu) {
    InheritedSetting const& is = spread.setting;
    auto const note = is.note.empty() ? std::string() : is.note + "; ";
    auto const* const variable = topology::find_variable(is.name);
    std::string const keep = fmt::format("keep it under {} if you mean it",
                                         is.name.starts_with("NCCL_") ? "[nccl]" : "[worker] env");
    if (!is.effective) return note + "has no effect: remove it";
    if (!gpu && is.name.starts_with("NCCL_")) return note + "CPU ranks use Gloo and do not read it";
    bool const bisect = variable != nullptr && variable->cls == topology::SettingClass::bisect;
    if (setting != nullptr && setting->origin != "default") {
        if (setting->value == is.value) return note + "the same as what osora sets: remove it";
        return note + "replaced by " + shown(*setting) + "; remove it";
    }
    if (bisect) {
        return note + fmt::format("unset it: {}", variable->reason);
    }
    if (variable == nullptr) {
        auto const near = topology::nearest_variable(is.name);
        if (near) return note + fmt::format("not known; did you mean {}?", *near);
        return note + "not known, perhaps a plug-in's: " + keep;
    }
    return note + "unset it, or " + keep;
}

void add_inherited(AdviceContext const& context, NcclAdvice& advice) {
    for (Spread& each : spread_over_nodes(context.in)) {
        auto const& is = each.setting;
        auto const found = std::ranges::find_if(advice.settings, [&](AdvisedSetting const& s) {
            bool const here = s.nodes.empty() || each.nodes.empty() ||
                              std::ranges::find(s.nodes, each.nodes.front()) != s.nodes.end();
            return s.name == is.name && !s.preflight && here;
        });
        auto* const setting = found == advice.settings.end() ? nullptr : &*found;
        auto text = advice_for(each, setting, context.in.gpu);
        bool const replaced = setting != nullptr && setting->origin != "default";
        if (is.effective && !replaced) check_foreign(context, is, each.nodes, advice.warnings);
        bool const fills = is.effective && setting != nullptr && setting->origin == "default";
        if (fills) {
            setting->reason = "set by you or the site: osora only fills what is not set";
            setting->value = is.value;
            setting->origin = "inherited";
            setting->place = is.origin;
            text = "kept: osora has no better value";
        }
        advice.inherited.push_back({is.name, is.value, is.origin, class_of(is.name),
                                    std::move(text), std::move(each.nodes)});
    }
}

void put_own(AdviceContext const& context, NcclAdvice& advice) {
    for (auto const& [name, own] : context.in.own) {
        bool const unread = !context.in.gpu && name.starts_with("NCCL_");
        std::string reason =
            unread ? "set by you; CPU ranks use Gloo and do not read it" : "set by you";
        for (AdvisedSetting const& each : advice.settings) {
            if (each.name != name || each.preflight || each.value == own.value) continue;
            if (each.origin != "default") reason += "; replaces " + shown(each);
            break;
        }
        std::erase_if(advice.settings,
                      [&](AdvisedSetting const& each) { return each.name == name; });
        AdvisedSetting setting{name, own.value, class_of(name), "yours", reason, {}, false};
        setting.place = own.place;
        auto const* const variable = topology::find_variable(name);
        if (setting.cls == 'B') {
            advice.warnings.push_back(fmt::format("{}={} ({}): not to be left on: {}", name,
                                                  topology::shown_value(own.value), own.place,
                                                  variable->reason));
        }
        check_foreign(context, {name, own.value, own.place}, {}, advice.warnings);
        advice.settings.push_back(std::move(setting));
    }
}

}  // namespace

AdviceContext look_at(AdviceInputs const& inputs) {
    AdviceContext context{inputs, {}, {}, {}};
    context.cards_known =
        !inputs.machines.empty() && std::ranges::none_of(inputs.machines, [](Machine const& each) {
            return each.source == kProbeOnly;
        });
    auto const* const probe = inputs.probe ? &*inputs.probe : nullptr;
    context.interfaces = choose_interfaces(inputs.machines, probe);
    context.hcas = choose_hcas(inputs.machines);
    for (Machine const& each : inputs.machines) {
        if (is_virtual_machine(each)) context.virtual_nodes.push_back(each.name);
    }
    return context;
}

NcclAdvice advise_nccl(AdviceInputs const& inputs) {
    AdviceContext const context = look_at(inputs);
    NcclAdvice advice;
    if (inputs.nodes > 1) {
        advice.warnings = context.interfaces.warnings;
        if (inputs.gpu) {
            auto const& more = context.hcas.warnings;
            advice.warnings.insert(advice.warnings.end(), more.begin(), more.end());
        }
    }
    advice.settings = derived_settings(context, advice.warnings);
    put_own(context, advice);
    add_inherited(context, advice);
    std::map<std::string, std::string> values;
    for (AdvisedSetting const& each : advice.settings) {
        if (!each.preflight) values[each.name] = each.value;
    }
    if (inputs.gpu) check_together(values, advice.warnings);
    advice.candidates = candidates_of(context);
    std::ranges::stable_sort(advice.settings, {}, [](AdvisedSetting const& each) {
        return std::tuple(each.preflight, std::string_view(each.name));
    });
    return advice;
}

}  // namespace osora::plan
