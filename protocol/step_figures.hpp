// The figures of a step by name, for whatever treats them alike.
#pragma once

#include "protocol/worker_messages.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <cstdint>
#include <type_traits>

namespace osora::protocol {

/// Calls f(name, value) for each figure of a step; `step` and `samples` are none.
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
