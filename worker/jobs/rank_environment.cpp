#include "worker/jobs/rank_environment.hpp"

#include "protocol/exit_codes.hpp"
#include "protocol/gpu_failure.hpp"
#include "worker/train/torch_failure.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace osora::worker {
namespace {

using Environment = std::map<std::string, std::string>;

/// The variable as a number in [low, high]; `fallback` when it is not set.
Result<int> number(Environment const& environment, std::string const& name, int fallback,
                   std::pair<int, int> range) {
    auto const found = environment.find(name);
    if (found == environment.end()) return fallback;
    std::string const& text = found->second;
    int value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const whole = error == std::errc() && end == text.data() + text.size();
    if (whole && value >= range.first && value <= range.second) return value;
    return Error{Errc::invalid_input, fmt::format("{}='{}': expected a number from {} to {}", name,
                                                  text, range.first, range.second)};
}

bool is_gpu_failure(std::string_view message) {
    return protocol::find_gpu_failure(message).kind != protocol::GpuFailure::none;
}

}  // namespace

Result<RankEnvironment> rank_environment(Environment const& environment) {
    constexpr int kRanksMax = 1 << 20;
    RankEnvironment self;
    OSORA_TRY(self.world_size, number(environment, "WORLD_SIZE", 1, {1, kRanksMax}));
    OSORA_TRY(self.rank, number(environment, "RANK", 0, {0, self.world_size - 1}));
    OSORA_TRY(self.local_world_size, number(environment, "LOCAL_WORLD_SIZE", 1, {1, kRanksMax}));
    OSORA_TRY(self.local_rank,
              number(environment, "LOCAL_RANK", 0, {0, self.local_world_size - 1}));
    OSORA_TRY(int const port, number(environment, "MASTER_PORT", 0, {0, 65535}));
    self.master_port = static_cast<std::uint16_t>(port);
    OSORA_TRY(self.attempt, number(environment, "OSORA_ATTEMPT", 0, {0, kRanksMax}));
    OSORA_TRY(self.agent_fd, number(environment, "OSORA_AGENT_FD", -1, {0, kRanksMax}));
    OSORA_TRY(self.store_fd, number(environment, "OSORA_STORE_FD", -1, {0, kRanksMax}));
    if (auto const found = environment.find("MASTER_ADDR"); found != environment.end()) {
        self.master_addr = found->second;
    }
    if (auto const found = environment.find("GLOO_SOCKET_IFNAME"); found != environment.end()) {
        self.interface = found->second.substr(0, found->second.find(','));
    }
    if (self.world_size > 1 && self.master_port == 0) {
        return Error{Errc::invalid_input, "WORLD_SIZE > 1 needs MASTER_PORT"};
    }
    return self;
}

int exit_code_of(Error const& error) {
    bool const is_of_gpu = error.code != Errc::out_of_memory && is_gpu_failure(error.message);
    if (is_of_gpu) return protocol::kExitGpu;
    if (is_torch_failure(error)) return protocol::kExitCheckFailed;
    switch (error.code) {
        case Errc::unreachable:
        case Errc::timed_out:
            return protocol::kExitComm;
        case Errc::out_of_memory:
            return protocol::kExitOutOfMemory;
        case Errc::corrupt:
        case Errc::not_found:
        case Errc::out_of_space:
        case Errc::busy:
        case Errc::io:
            return protocol::kExitData;
        case Errc::invalid_input:
        case Errc::not_divisible:
            return protocol::kExitConfiguration;
        case Errc::cancelled:
            return protocol::kExitEndedByController;
    }
    return protocol::kExitCheckFailed;
}

}  // namespace osora::worker
