#include "worker/parallel/process_group.hpp"

#include "base/check.hpp"
#include "worker/cuda/cuda_module.hpp"
#include "worker/parallel/flight/flight_backend.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <numeric>
#include <vector>

namespace osora::worker {

struct Group::Impl {
    GroupConfig config;
    c10::intrusive_ptr<c10d::Store> store;
    c10::intrusive_ptr<c10d::Backend> backend;
    c10::intrusive_ptr<c10d::Backend> nccl = {};  // null: tensors are on the CPU
    Device device = {};
    std::string name = "all";  // and ranks of the run: for the recorder of collectives
    std::vector<int> ranks = {};
};

namespace {

Error unreachable(GroupConfig const& config, std::string_view what, std::exception const& why) {
    // c10 appends a stack trace after the first line.
    std::string_view const text = why.what();
    return Error{Errc::unreachable,
                 fmt::format("rank {} of {}: {}: {}", config.rank, config.world_size, what,
                             text.substr(0, text.find('\n')))};
}

std::chrono::milliseconds timeout_of(GroupConfig const& config) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(config.timeout_s * 1000));
}

/// c10d's watchdog aborts the process. If FlightWatch checks the time and ends the process cleanly,
/// the watchdog's limit is later.
std::int64_t nccl_timeout_ms(GroupConfig const& config) {
    auto const timeout_ms = timeout_of(config).count();
    return config.flight ? 2 * timeout_ms + 5000 : timeout_ms;
}

c10::intrusive_ptr<c10d::Store> connect_store(GroupConfig const& config) {
    c10d::TCPStoreOptions options;
    options.port = config.store_port;
    options.isServer = config.rank == 0;
    options.numWorkers = static_cast<std::size_t>(config.world_size);
    options.timeout = timeout_of(config);
    if (config.rank == 0 && config.listen_fd >= 0) options.masterListenFd = config.listen_fd;
    return c10::make_intrusive<c10d::TCPStore>(config.store_host, options);
}

}  // namespace

int Group::rank() const {
    return impl_->config.rank;
}
int Group::world_size() const {
    return impl_->config.world_size;
}
c10d::Backend& Group::backend() const {
    return *impl_->backend;
}
c10d::Backend& Group::device_backend() const {
    return impl_->nccl ? *impl_->nccl : *impl_->backend;
}
FlightRecorder* Group::flight() const {
    return impl_->config.flight.get();
}
c10d::Store& Group::store() const {
    return *impl_->store;
}

c10::intrusive_ptr<c10d::Store> const& Group::store_handle() const {
    return impl_->store;
}

void allow_ranks_as_threads() {
    ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);
}

namespace {

/// The group `named.name` of `named.ranks`; the rest of `named` is filled in.
Result<Group> join(c10::intrusive_ptr<c10d::Store> store, Group::Impl named) {
    GroupConfig const& config = named.config;
    OSORA_CHECK(config.rank >= 0 && config.rank < config.world_size);
    // Gloo may write to a peer that is gone: that is an error of the collective, not the end.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        auto const options = c10d::ProcessGroupGloo::Options::create();
        options->timeout = timeout_of(config);
        options->devices.push_back(
            config.my_interface.empty()
                ? c10d::ProcessGroupGloo::createDeviceForHostname(config.my_address)
                : c10d::ProcessGroupGloo::createDeviceForInterface(config.my_interface));
        named.backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, config.rank,
                                                                    config.world_size, options);
        if (config.flight)
            named.backend = recorded(named.backend, config.flight, named.name, named.ranks);
        named.store = std::move(store);
        return Group(std::make_shared<Group::Impl>(std::move(named)));
    } catch (std::exception const& error) {
        return unreachable(config, "join the group", error);
    }
}

}  // namespace

Result<Group> join_gloo_group(c10::intrusive_ptr<c10d::Store> store, GroupConfig const& config) {
    std::vector<int> everyone(static_cast<std::size_t>(config.world_size));
    std::iota(everyone.begin(), everyone.end(), 0);
    return join(std::move(store),
                {.config = config, .store = {}, .backend = {}, .ranks = std::move(everyone)});
}

Group make_group(c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<c10d::Backend> backend) {
    Group::Impl made{.config = {}, .store = std::move(store), .backend = std::move(backend)};
    made.config.rank = made.backend->getRank();
    made.config.world_size = made.backend->getSize();
    made.ranks.resize(static_cast<std::size_t>(made.config.world_size));
    std::iota(made.ranks.begin(), made.ranks.end(), 0);
    return Group(std::make_shared<Group::Impl>(std::move(made)));
}

Result<void> Group::use_nccl(Device const& device) {
    OSORA_CHECK(device.is_gpu());
    NcclGroupConfig const config{.rank = rank(),
                                 .world_size = world_size(),
                                 .device = device.index(),
                                 .timeout_ms = nccl_timeout_ms(impl_->config)};
    try {
        auto store = c10::make_intrusive<c10d::PrefixStore>("nccl", impl_->store);
        impl_->nccl = device.module()->make_nccl_group(std::move(store), config);
        if (auto const& flight = impl_->config.flight)
            impl_->nccl = recorded(impl_->nccl, flight, impl_->name, impl_->ranks);
        impl_->device = device;
        return {};
    } catch (std::exception const& error) {
        return unreachable({.rank = rank(), .world_size = world_size()}, "NCCL group", error);
    }
}

// c10d's own split() knows the ranks of the first group of a process only (2.11, groupRanks()).
Result<Group> Group::split(std::string const& name, std::vector<int> const& ranks) const {
    auto const place = std::ranges::find(ranks, rank());
    OSORA_CHECK(place != ranks.end());
    GroupConfig config = impl_->config;
    config.rank = static_cast<int>(place - ranks.begin());
    config.world_size = static_cast<int>(ranks.size());
    std::string const prefix = fmt::format("{}/{}", name, ranks.front());
    auto store = c10::make_intrusive<c10d::PrefixStore>(prefix, impl_->store);
    std::vector<int> of_run;
    for (int const each : ranks) of_run.push_back(impl_->ranks[static_cast<std::size_t>(each)]);
    auto part = join(std::move(store), {.config = std::move(config),
                                        .store = {},
                                        .backend = {},
                                        .name = prefix,
                                        .ranks = std::move(of_run)});
    if (part.has_error()) return Error(part.error()).in("group " + prefix);
    if (impl_->nccl) OSORA_TRY_VOID(part->use_nccl(impl_->device));
    return part;
}

Result<Group> join_gloo_group(GroupConfig const& config) {
    c10::intrusive_ptr<c10d::Store> store;
    try {
        store = connect_store(config);
    } catch (std::exception const& error) {
        return unreachable(
            config, fmt::format("store at {}:{}", config.store_host, config.store_port), error);
    }
    return join_gloo_group(std::move(store), config);
}

}  // namespace osora::worker
