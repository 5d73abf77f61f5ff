// A user's value overrides all others; an inherited one stays if nothing better is known.
#include "plan/nccl/nccl_env.hpp"

#include "topology/assignment.hpp"
#include "topology/nccl/nccl_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace osora::plan {

std::string origin_text(Origin const& origin) {
    auto const place = [&](char const* layer) {
        return origin.line > 0       ? fmt::format("{}: {}:{}", layer, origin.file, origin.line)
               : origin.file.empty() ? std::string(layer)
                                     : fmt::format("{}: {}", layer, origin.file);
    };
    switch (origin.layer) {
        case Layer::site:
            return place("site file");
        case Layer::user:
            return place("user file");
        case Layer::run:
            return place("run file");
        case Layer::command_line:
            return "--set";
        case Layer::default_value:
            break;
    }
    return "default";
}

void add_probed_nodes(NcclFacts& facts, topology::ProbeResult const& probe) {
    std::set<std::string> known;
    for (auto const& each : facts.machines) known.insert(each.name);
    std::vector<topology::Machine> added(probe.nodes.size());
    auto const put = [&](std::size_t node, std::string const& interface) {
        if (node >= added.size() || interface.empty()) return;
        auto& nics = added[node].nics;
        bool const there =
            std::ranges::any_of(nics, [&](auto const& nic) { return nic.interface == interface; });
        if (there) return;
        nics.emplace_back();
        nics.back().interface = interface;
        nics.back().up = true;
    };
    for (auto const& each : probe.pairs) {
        if (each.from >= 0) put(static_cast<std::size_t>(each.from), each.interface);
    }
    for (std::size_t i = 0; i < probe.scores.size(); ++i) put(i, probe.scores[i].interface);
    for (std::size_t i = 0; i < added.size(); ++i) {
        added[i].name = probe.nodes[i];
        added[i].source = kProbeOnly;
        if (known.insert(added[i].name).second) facts.machines.push_back(std::move(added[i]));
    }
}

AdviceInputs advice_inputs(RunConfig const& config, Origins const& origins,
                           std::map<std::string, std::string> const& environment, NcclFacts facts,
                           bool gpu) {
    AdviceInputs inputs;
    inputs.machines = std::move(facts.machines);
    inputs.fabric = std::move(facts.fabric);
    inputs.probe = std::move(facts.probe);
    inputs.inherited = std::move(facts.inherited);
    inputs.extras = std::move(facts.extras);
    inputs.nccl_version = facts.nccl_version;
    inputs.tuner_plugin = std::move(facts.tuner_plugin);
    inputs.gpu = gpu;
    inputs.nodes = config.resources.nodes;
    auto const place = [&](std::string const& key) {
        auto const origin = origins.find(key);
        return origin == origins.end() ? std::string("run file") : origin_text(origin->second);
    };
    for (auto const& [name, value] : config.nccl) inputs.own[name] = {value, place("nccl." + name)};
    for (auto const& [name, value] : config.worker.env) {
        if (!topology::is_communication_variable(name)) continue;
        inputs.own[name] = {value, place("worker.env." + name)};
    }
    if (inputs.inherited.empty()) {
        NodeInherited all;
        for (auto const& [name, value] : environment) {
            if (!topology::is_communication_variable(name)) continue;
            all.settings.push_back({name, value, "environment"});
        }
        inputs.inherited.push_back(std::move(all));
    }
    return inputs;
}

std::vector<NcclSetting> nccl_settings(AdviceInputs const& inputs) {
    auto const advice = advise_nccl(inputs);
    std::vector<NcclSetting> list;
    std::map<std::string, std::string> replaced;  // values of the environment, by name
    for (NodeInherited const& node : inputs.inherited) {
        for (auto const& each : node.settings) {
            if (each.effective) replaced.emplace(each.name, each.value);
        }
    }
    for (AdvisedSetting const& each : advice.settings) {
        if (each.preflight) continue;
        NcclSetting setting{each.name, each.value, each.origin, each.reason};
        if (!each.place.empty()) setting.origin = each.place;
        auto const was = replaced.find(each.name);
        bool const differs = was != replaced.end() && was->second != each.value;
        if (each.origin == "yours" && differs) {
            setting.reason +=
                fmt::format("; replaces {} of the environment", topology::shown_value(was->second));
        }
        if (each.cls != '-') setting.cls = each.cls;
        setting.nodes = each.nodes;
        list.push_back(std::move(setting));
    }
    std::set<std::string> advised;
    for (NcclSetting const& each : list) advised.insert(each.name);
    for (InheritedAdvice const& each : advice.inherited) {
        auto const effective = replaced.find(each.name);
        bool const known = advised.contains(each.name);
        if (known || effective == replaced.end() || effective->second != each.value) continue;
        NcclSetting setting{each.name, each.value, each.origin, "set where osora was started"};
        if (!inputs.gpu && each.name.starts_with("NCCL_")) {
            setting.reason += "; CPU ranks use Gloo and do not read it";
        } else if (each.cls == 'B') {
            setting.reason += "; not to be left on";
        }
        if (each.cls != '-') setting.cls = each.cls;
        setting.nodes = each.nodes;
        list.push_back(std::move(setting));
    }
    std::ranges::stable_sort(list, {}, &NcclSetting::name);
    return list;
}

}  // namespace osora::plan
