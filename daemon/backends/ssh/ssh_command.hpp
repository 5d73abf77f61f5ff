// One command on another host: its input, its output, its end. One connection for each command:
// there are many hosts, and few commands for each. Driven by the ssh backend. Private to shells
// (Asio inside).
#pragma once

#include "daemon/backends/ssh/ssh_connection.hpp"

#include <optional>

namespace osora::daemon {

class SshCommand {
public:
    struct End {
        int exit_code = 0;
        int signal = 0;
    };

    SshCommand(asio::any_io_executor executor, SshTarget target);
    ~SshCommand();

    /// Connects and starts `command`, which the user's shell on the host parses: fixed text only.
    [[nodiscard]] asio::awaitable<Result<void>> start(std::string command);
    /// Writes `input` to its standard input, then closes that.
    [[nodiscard]] asio::awaitable<Result<void>> give(std::string input);
    /// The next line of its standard output; `not_found` when the output ends first.
    [[nodiscard]] asio::awaitable<Result<std::string>> read_line();
    /// Waits for its end; `unreachable` when the connection was lost, after which its end stays
    /// unknown.
    [[nodiscard]] asio::awaitable<Result<End>> wait();

    /// The limit for start(), give(), read_line() and wait(): each new call has all of it.
    void set_limit(std::chrono::milliseconds limit) { limit_ = limit; }
    void set_no_limit() { limit_.reset(); }
    /// Pending calls return `cancelled`.
    void interrupt();
    /// The last text that it wrote to standard error, as one line.
    [[nodiscard]] std::string complaint() const;

private:
    struct Channel;

    void begin();
    void read_all();

    SshConnection connection_;
    std::unique_ptr<Channel> channel_;
    std::optional<std::chrono::milliseconds> limit_ = std::chrono::seconds(20);
};

}  // namespace osora::daemon
