// Values that a user or a machine set, and what NCCL would silently do with them.
#include "base/text/nearest.hpp"
#include "base/text/text.hpp"
#include "plan/few_names.hpp"
#include "plan/nccl/nccl_advice_parts.hpp"
#include "topology/nccl/nccl_value.hpp"

#include <algorithm>
#include <charconv>

namespace osora::plan {
namespace {

using topology::InheritedSetting;

std::string version_text(int code) {
    int const patch = code % 100;
    return fmt::format("{}.{}{}", code / 10000, code / 100 % 100,
                       patch == 0 ? std::string() : fmt::format(".{}", patch));
}

/// A list in NCCL's syntax: "[^][=]name[:port],...".
struct Matcher {
    bool exclude = false, exact = false;
    std::vector<std::string> names;

    explicit Matcher(std::string_view value) {
        exclude = value.starts_with('^');
        if (exclude) value.remove_prefix(1);
        exact = value.starts_with('=');
        if (exact) value.remove_prefix(1);
        for (std::string_view const each : split(value, ',')) {
            names.emplace_back(each.substr(0, each.find(':')));
        }
    }
    [[nodiscard]] bool takes(std::string const& name, std::string const& entry) const {
        return exact ? name == entry : name.starts_with(entry);
    }
};

/// Names of a node's interfaces or RDMA devices that are up.
std::vector<std::string> names_of(topology::Machine const& machine, bool devices) {
    std::vector<std::string> names;
    for (auto const& nic : machine.nics) {
        auto const& name = devices ? nic.device : nic.interface;
        bool const known = std::ranges::find(names, name) != names.end();
        if (nic.up && !name.empty() && !known) names.push_back(name);
    }
    return names;
}

void check_list(AdviceContext const& context, InheritedSetting const& setting, bool devices,
                std::vector<std::string>& warnings) {
    Matcher matcher(setting.value);
    if (setting.name == "GLOO_SOCKET_IFNAME" || setting.name == "TP_SOCKET_IFNAME") {
        matcher.exact = true;
    }
    if (matcher.exclude) return;
    std::vector<std::string> none, prefixed;
    std::string example;
    for (auto const& machine : context.in.machines) {
        auto const names = names_of(machine, devices);
        if (names.empty()) continue;
        bool any = false;
        for (std::string const& entry : matcher.names) {
            auto const count = std::ranges::count_if(
                names, [&](std::string const& name) { return matcher.takes(name, entry); });
            any = any || count > 0;
            bool const named = std::ranges::find(names, entry) != names.end();
            if (matcher.exact || count < 2 || !named) continue;
            prefixed.push_back(machine.name);
            example = entry;
        }
        if (!any) none.push_back(machine.name);
    }
    auto const what = devices ? "RDMA device" : "interface";
    auto const shown = fmt::format("{}={}", setting.name, topology::shown_value(setting.value));
    if (!none.empty()) {
        warnings.push_back(
            fmt::format("{}: no {} of that name is up on {}", shown, what, few_names(none)));
    }
    if (!prefixed.empty()) {
        warnings.push_back(fmt::format("{}: without '=' {} also takes others that start so, on {}",
                                       shown, example, few_names(prefixed)));
    }
}

/// Whether the value makes NCCL choose LL128 although it would not have: it is named and not
/// excluded.
bool forces_ll128(std::string_view value) {
    return lower(value).find("ll128") != std::string::npos &&
           value.find('^') == std::string_view::npos;
}

void check_version(AdviceContext const& context, topology::NcclVariable const& variable,
                   std::string const& shown, std::vector<std::string>& warnings) {
    int const version = context.in.nccl_version;
    auto const& details = variable.details;
    if (version > 0 && version < details.since) {
        warnings.push_back(fmt::format("{}: NCCL reads it since {}; this is {}", shown,
                                       version_text(details.since), version_text(version)));
    }
    bool const old =
        details.until > 0 ? context.may_be_since(details.until) : !details.instead.empty();
    if (old) {
        auto const use = details.instead.empty() ? std::string("unset it")
                                                 : fmt::format("use {}", details.instead);
        warnings.push_back(fmt::format("{}: {}, {}", shown, variable.reason, use));
    }
}

}  // namespace

void check_foreign(AdviceContext const& context, InheritedSetting const& setting,
                   std::vector<std::string> const& nodes, std::vector<std::string>& warnings) {
    if (!context.in.gpu && setting.name.starts_with("NCCL_")) return;  // nobody reads it
    auto const where = nodes.empty() ? setting.origin : setting.origin + " on " + few_names(nodes);
    if (auto const problem = topology::check_text(setting.value)) {
        warnings.push_back(fmt::format("{} ({}): {}", setting.name, where, problem->message));
        return;
    }
    auto const shown =
        fmt::format("{}={} ({})", setting.name, topology::shown_value(setting.value), where);
    auto const* const variable = topology::find_variable(setting.name);
    if (variable == nullptr) {
        auto const near = topology::nearest_variable(setting.name);
        if (near) warnings.push_back(fmt::format("{}: not known; did you mean {}?", shown, *near));
        return;
    }
    int const version = context.in.nccl_version;
    if (auto const problem = topology::check_value(*variable, setting.value, version)) {
        auto const near = problem->nearest.empty()
                              ? std::string()
                              : fmt::format("; nearest valid: {}", problem->nearest);
        warnings.push_back(fmt::format("{}: {}{}", shown, problem->message, near));
        return;
    }
    check_version(context, *variable, shown, warnings);
    if (setting.name == "NCCL_PROTO" && forces_ll128(setting.value)) {
        warnings.push_back(shown +
                           ": forces LL128, which silently corrupts data where it is "
                           "not supported; exclude what is bad instead: ^LL");
    }
    bool const only_without_ring = setting.name == "NCCL_ALGO" &&
                                   setting.value.find('^') == std::string::npos &&
                                   lower(setting.value).find("ring") == std::string::npos;
    if (only_without_ring && context.may_be_since(22400)) {
        warnings.push_back(shown +
                           ": without ring a collective that has nothing else fails "
                           "since 2.24");
    }
    if (setting.name == "NCCL_IB_GID_INDEX" && version >= 22100) {
        warnings.push_back(shown + ": NCCL finds it itself since 2.21; unset it");
    }
    bool const interfaces = setting.name.ends_with("_SOCKET_IFNAME");
    if (interfaces || setting.name == "NCCL_IB_HCA") {
        check_list(context, setting, !interfaces, warnings);
    }
}

void check_together(std::map<std::string, std::string> const& values,
                    std::vector<std::string>& warnings) {
    auto const number = [&](char const* name, int otherwise) {
        auto const found = values.find(name);
        int value = otherwise;
        if (found != values.end()) {
            std::from_chars(found->second.data(), found->second.data() + found->second.size(),
                            value);
        }
        return value;
    };
    constexpr int kSocketsMax = 64;
    std::int64_t const sockets =
        std::int64_t{number("NCCL_SOCKET_NTHREADS", 1)} * number("NCCL_NSOCKS_PERTHREAD", 1);
    if (sockets > kSocketsMax) {
        warnings.push_back(
            fmt::format("NCCL_SOCKET_NTHREADS x NCCL_NSOCKS_PERTHREAD = {}: NCCL takes at most {}",
                        sockets, kSocketsMax));
    }
    int const least = number("NCCL_MIN_CTAS", 1), most = number("NCCL_MAX_CTAS", 64);
    if (least > most) {
        warnings.push_back(fmt::format("NCCL_MIN_CTAS={} is over NCCL_MAX_CTAS={}", least, most));
    }
}

}  // namespace osora::plan
