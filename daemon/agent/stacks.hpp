// What the workers of a node are doing, written down before they are killed: threads with their
// state and the kernel function that they wait in, the stacks of processes that can write them
// (base/process/stack_signal.hpp), and c10d's flight recorder where NCCL keeps one. Needs no
// debugger. Private to shells (Asio inside).
#pragma once

#include "base/ids.hpp"
#include "protocol/messages/agent_messages.hpp"

#include <boost/asio/awaitable.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::daemon {

struct StackSubject {
    int rank = 0;
    ProcessId process;
};

/// Writes FOLDER/RANK.txt for each subject; takes at most a quarter of `limit_s`, or three quarters
/// when a flight recorder is read. What cannot be read is left out: the answer always has an entry
/// for each.
[[nodiscard]] boost::asio::awaitable<std::vector<protocol::RankState>> take_stacks(
    std::vector<StackSubject> subjects, std::filesystem::path folder, double limit_s = 4);

/// RUN_DIR/stacks/ATTEMPT. c10d keeps its flight recorder there, kFlightFile + RANK, and listens on
/// kFlightRequest + RANK + ".pipe".
inline constexpr char const* kFlightFile = "flight-";
inline constexpr char const* kFlightRequest = "flight-request-";
[[nodiscard]] std::filesystem::path stacks_folder(std::filesystem::path const& run_dir,
                                                  int attempt);

/// "is stopped by a signal", "runs", "waits in futex_wait_queue", "sleeps": from the letter in
/// /proc/PID/stat and /proc/PID/wchan.
[[nodiscard]] std::string state_text(char letter, std::string_view wchan);

/// A line of backtrace_symbols with its C++ name readable.
[[nodiscard]] std::string demangled(std::string_view line);

}  // namespace osora::daemon
