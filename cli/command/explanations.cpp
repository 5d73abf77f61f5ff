#include "cli/command/explanations.hpp"

#include "base/text/text.hpp"
#include "cli/command/explanations_internal.hpp"
#include "protocol/failure_id.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace osora::cli {

std::span<Explanation const> explanations() {
    static std::vector<Explanation> const all = [] {
        std::vector<Explanation> merged;
        for (auto const& table : {run_explanations(), command_explanations(), clip_explanations()})
            merged.insert(merged.end(), table.begin(), table.end());
        std::ranges::sort(merged, {}, &Explanation::id);
        return merged;
    }();
    return all;
}

Explanation const* find_explanation(std::string_view wanted) {
    std::string name = lower(wanted);
    std::ranges::replace(name, '_', '-');  // osora data check writes too_large
    if (name.starts_with("e-")) name.erase(0, 2);
    for (Explanation const& each : explanations()) {
        std::string const own = lower(each.id.substr(2));
        if (own == name || own == "clip-" + name) return &each;
        if (each.worker_exit_code != 0 && std::to_string(each.worker_exit_code) == name) {
            return &each;
        }
    }
    return nullptr;
}

std::string_view explanation_of(protocol::RunView const& view) {
    return protocol::failure_id(view);
}

std::string_view explanation_of(Errc code) {
    switch (code) {
        case Errc::out_of_memory:
            return "E-does-not-fit";
        case Errc::out_of_space:
            return "E-disk";
        case Errc::unreachable:
        case Errc::timed_out:
            return "E-unreachable";
        case Errc::corrupt:
            return "E-corrupt";
        case Errc::busy:
            return "E-busy";
        case Errc::io:
            return "E-io";
        case Errc::invalid_input:
        case Errc::not_divisible:
        case Errc::not_found:
        case Errc::cancelled:
            return "";  // the message says all
    }
    return "";
}

}  // namespace osora::cli
