// A blocking wait would hold the store's connection, which the training thread uses too: keys are
// asked for again and again.
#include "worker/jobs/checkpoint_peers.hpp"

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::string_view kWritten = "written";

}  // namespace

StoreCheckpointPeers::StoreCheckpointPeers(Group group, RankEnvironment const& self)
    : group_(std::move(group)), self_(self) {}

std::string StoreCheckpointPeers::tag() const {
    return fmt::format("launch{}", self_.attempt);
}

std::string StoreCheckpointPeers::key(int step, int rank) const {
    return fmt::format("checkpoint/{}/{}/{}", self_.attempt, step, rank);
}

Result<void> StoreCheckpointPeers::share(int step, Result<void> const& written) {
    std::string const said =
        written.has_value() ? std::string(kWritten) : "!" + written.error().message;
    try {
        group_.store().set(key(step, self_.rank),
                           std::vector<std::uint8_t>(said.begin(), said.end()));
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, fmt::format("store: {}", error.what())};
    }
    return {};
}

Result<void> StoreCheckpointPeers::wait_for_all(int step) {
    try {
        for (int rank = 1; rank < group_.world_size(); ++rank) {
            std::string const waited_for = key(step, rank);
            while (!group_.store().check({waited_for})) {
                if (given_up_) {
                    return Error{Errc::unreachable,
                                 fmt::format("rank {} did not write its part", rank)};
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
            auto const heard = group_.store().get(waited_for);
            std::string const said(heard.begin(), heard.end());
            if (said != kWritten) {
                return Error{Errc::io,
                             fmt::format("rank {}: {}", rank, std::string_view(said).substr(1))};
            }
        }
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, fmt::format("store: {}", error.what())};
    }
    return {};
}

}  // namespace osora::worker
