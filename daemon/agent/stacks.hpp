// What the workers of a node are doing, written down before they are killed: threads with their
// state and where the kernel holds them, the stacks of those that write them themselves
// (base/process/stack_signal.hpp), and the flight recorder of c10d where NCCL keeps one. Needs no
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

/// Writes FOLDER/RANK.txt for each subject; ends within a quarter of `limit_s`, or three quarters
/// when a flight recorder is asked. What cannot be read is left out: the answer always has an entry
/// for each.
[[nodiscard]] boost::asio::awaitable<std::vector<protocol::RankState>> take_stacks(
    std::vector<StackSubject> subjects, std::filesystem::path folder, double limit_s = 4);

/// RUN_DIR/stacks/ATTEMPT. In it c10d keeps its flight recorder, kFlightFile + RANK, and listens on
/// kFlightRequest + RANK + ".pipe".
inline constexpr char const* kFlightFile = "flight-";
inline constexpr char const* kFlightRequest = "flight-request-";
[[nodiscard]] std::filesystem::path stacks_folder(std::filesystem::path const& run_dir,
                                                  int attempt);

/// "is stopped by a signal", "runs", "waits in futex_wait_queue", "sleeps": of /proc/PID/stat's
/// letter and /proc/PID/wchan.
[[nodiscard]] std::string state_text(char letter, std::string_view wchan);

/// A line of backtrace_symbols with its C++ name readable.
[[nodiscard]] std::string demangled(std::string_view line);

}  // namespace osora::daemon
