// The figures of a step by name, for code that treats them alike.
#pragma once

#include "protocol/messages/worker_messages.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace osora::protocol {

/// The sum of two counts that came from outside, limited to 0 and the largest int.
[[nodiscard]] inline int sum_of_counts(int a, int b) {
    auto const sum = std::int64_t{a} + b;
    return static_cast<int>(std::clamp<std::int64_t>(sum, 0, std::numeric_limits<int>::max()));
}

/// Calls f(name, value) for each figure of a step; `step` and `samples` are not figures.
template <class F>
void for_each_figure(StepMetrics const& metrics, F f) {
    using Members = boost::describe::describe_members<StepMetrics, boost::describe::mod_any_access>;
    boost::mp11::mp_for_each<Members>([&](auto member) {
        using Value = std::remove_cvref_t<decltype(metrics.*member.pointer)>;
        if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::int64_t>) {
            f(member.name, static_cast<double>(metrics.*member.pointer));
        }
    });
}

}  // namespace osora::protocol
