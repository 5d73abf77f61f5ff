#include "worker/parallel/process_group.hpp"

#include "base/check.hpp"
#include "worker/cuda/cuda_module.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <exception>

namespace osora::worker {

struct Group::Impl {
    int rank = 0;
    int world_size = 1;
    c10::intrusive_ptr<c10d::Store> store;
    c10::intrusive_ptr<c10d::Backend> backend;
    std::chrono::milliseconds timeout{};
    c10::intrusive_ptr<c10d::Backend> nccl;  // null: tensors are on the CPU
};

namespace {

Error unreachable(GroupConfig const& config, std::string_view what, std::exception const& why) {
    // c10 puts a stack trace behind the first line.
    std::string_view const text = why.what();
    return Error{Errc::unreachable,
                 fmt::format("rank {} of {}: {}: {}", config.rank, config.world_size, what,
                             text.substr(0, text.find('\n')))};
}

std::chrono::milliseconds timeout_of(GroupConfig const& config) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(config.timeout_s * 1000));
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
    return impl_->rank;
}
int Group::world_size() const {
    return impl_->world_size;
}
c10d::Backend& Group::backend() const {
    return *impl_->backend;
}
c10d::Backend& Group::device_backend() const {
    return impl_->nccl ? *impl_->nccl : *impl_->backend;
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

Result<Group> join_gloo_group(c10::intrusive_ptr<c10d::Store> store, GroupConfig const& config) {
    OSORA_CHECK(config.rank >= 0 && config.rank < config.world_size);
    try {
        auto const options = c10d::ProcessGroupGloo::Options::create();
        options->timeout = timeout_of(config);
        options->devices.push_back(
            config.my_interface.empty()
                ? c10d::ProcessGroupGloo::createDeviceForHostname(config.my_address)
                : c10d::ProcessGroupGloo::createDeviceForInterface(config.my_interface));
        auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, config.rank,
                                                                   config.world_size, options);
        return Group(std::make_shared<Group::Impl>(Group::Impl{config.rank, config.world_size,
                                                               std::move(store), std::move(backend),
                                                               timeout_of(config), nullptr}));
    } catch (std::exception const& error) {
        return unreachable(config, "join the group", error);
    }
}

Group make_group(c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<c10d::Backend> backend) {
    int const rank = backend->getRank(), world_size = backend->getSize();
    return Group(std::make_shared<Group::Impl>(Group::Impl{
        rank, world_size, std::move(store), std::move(backend), std::chrono::minutes(1), nullptr}));
}

Result<void> Group::use_nccl(Device const& device) {
    OSORA_CHECK(device.is_gpu());
    NcclGroupConfig const config{.rank = rank(),
                                 .world_size = world_size(),
                                 .device = device.index(),
                                 .timeout_ms = impl_->timeout.count()};
    try {
        auto store = c10::make_intrusive<c10d::PrefixStore>("nccl", impl_->store);
        impl_->nccl = device.module()->make_nccl_group(std::move(store), config);
        return {};
    } catch (std::exception const& error) {
        return unreachable({.rank = rank(), .world_size = world_size()}, "NCCL group", error);
    }
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
