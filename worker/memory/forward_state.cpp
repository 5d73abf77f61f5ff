#include "worker/memory/forward_state.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include <utility>

namespace osora::worker {

AutocastState AutocastState::here(c10::Device device) {
    AutocastState state;
    auto const add = [&](c10::DeviceType type) {
        state.devices_.push_back({type, at::autocast::is_autocast_enabled(type),
                                  at::autocast::get_autocast_dtype(type)});
    };
    add(at::kCPU);
    if (device.type() != at::kCPU && at::autocast::is_autocast_available(device.type()))
        add(device.type());
    return state;
}

void AutocastState::set() const {
    for (OfDevice const& each : devices_) {
        at::autocast::set_autocast_enabled(each.type, each.enabled);
        at::autocast::set_autocast_dtype(each.type, each.dtype);
    }
}

AutocastState::Scope::Scope(AutocastState const& state)
    : cache_before_(at::autocast::is_autocast_cache_enabled()) {
    for (OfDevice const& each : state.devices_) before_.push_back(here(c10::Device(each.type, -1)));
    state.set();
    at::autocast::set_autocast_cache_enabled(false);
}
AutocastState::Scope::~Scope() {
    for (AutocastState const& each : before_) each.set();
    at::autocast::set_autocast_cache_enabled(cache_before_);
}

RandomState RandomState::here(c10::Device device) {
    RandomState state;
    auto const add = [&](c10::Device of) {
        at::Generator generator = at::globalContext().defaultGenerator(of);
        at::Tensor now = generator.get_state();
        state.generators_.push_back({std::move(generator), std::move(now)});
    };
    add(c10::Device(at::kCPU));
    if (!device.is_cpu() && !device.is_meta()) add(device);
    return state;
}

void RandomState::set() const {
    for (OfGenerator each : generators_) each.generator.set_state(each.state);
}

RandomState::Scope::Scope(RandomState const& state) {
    RandomState now;
    for (OfGenerator const& each : state.generators_)
        now.generators_.push_back({each.generator, each.generator.get_state()});
    before_.push_back(std::move(now));
    state.set();
}
RandomState::Scope::~Scope() {
    for (RandomState const& each : before_) each.set();
}

}  // namespace osora::worker
