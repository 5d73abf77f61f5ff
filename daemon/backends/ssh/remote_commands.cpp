// Shells exit with 127 for a program that does not exist, and with 126 for one that they cannot
// start.
#include "daemon/backends/ssh/remote_commands.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace osora::daemon {
namespace {

using std::chrono::seconds;

constexpr int kCannotStart = 126, kNotThere = 127;
constexpr int kShellLinesMax = 100;
constexpr seconds kCommandLimit{20}, kCopyLimit{120};

std::string in_quotes(std::string_view text) {
    std::string made = "'";
    for (char const each : text) {
        if (each == '\'') {
            made += "'\\''";
        } else {
            made += each;
        }
    }
    return made + "'";
}

std::string copy_path(std::string_view hash) {
    return fmt::format("~/.cache/osora/bin/{}", hash);
}

/// Why a command printed nothing: its exit code and its last output.
Error silence(SshCommand::End const& end, std::string const& complaint) {
    std::string const words = complaint.empty() ? "" : ": " + complaint;
    bool const library = complaint.find("shared librar") != complaint.npos;
    bool const missing = end.exit_code == kNotThere || end.exit_code == kCannotStart;
    if (missing && !library) return Error{Errc::not_found, "no osorad there" + words};
    if (end.signal != 0) {
        return Error{Errc::invalid_input,
                     fmt::format("osorad was killed by signal {}{}", end.signal, words)};
    }
    return Error{Errc::invalid_input, fmt::format("osorad exited with {}{}", end.exit_code, words)};
}

asio::awaitable<Result<std::string>> answer_of(SharedCommand command, std::string text,
                                               std::string input) {
    auto const started = co_await command->start(std::move(text));
    if (started.has_error()) co_return started.error();
    auto const given = co_await command->give(std::move(input));
    if (given.has_error()) co_return given.error();
    int lines = 0;
    std::string said;  // what the user's shell printed before osorad started
    while (true) {
        auto line = co_await command->read_line();
        if (line.has_value() && !line->starts_with('{') && ++lines <= kShellLinesMax) {
            said = std::move(*line);
            continue;
        }
        if (line.has_value() || line.error().code != Errc::not_found) co_return line;
        break;
    }
    auto const end = co_await command->wait();
    if (end.has_error()) co_return end.error();
    std::string const complaint = command->complaint();
    co_return silence(*end, complaint.empty() ? said : complaint);
}

}  // namespace

std::string run_text(std::filesystem::path const& osorad, std::string_view argument) {
    return fmt::format("exec {} {}", in_quotes(osorad.string()), argument);
}

std::string run_copy_text(std::string_view hash, std::string_view argument) {
    return fmt::format("exec {}/osorad {}", copy_path(hash), argument);
}

std::string copy_text(std::string_view hash, int node) {
    std::string const folder = copy_path(hash);
    std::string const fresh = fmt::format("{}/new-{}", folder, node);
    // Whatever the umask: a user who could write there would choose the program that runs.
    return fmt::format(
        "umask 077 && mkdir -p {0} && chmod 700 ~/.cache/osora ~/.cache/osora/bin {0} && "
        "cat > {1} && chmod 700 {1} && mv -f {1} {0}/osorad",
        folder, fresh);
}

asio::awaitable<Result<AgentAnnounced>> start_agent_on(SharedCommand command, std::string text,
                                                       AgentStart start) {
    command->set_limit(kCommandLimit);
    std::string input = protocol::encode(start);
    auto const line = co_await answer_of(command, std::move(text), std::move(input));
    if (line.has_error()) co_return line.error();
    auto announced = protocol::decode<AgentAnnounced>(*line);
    if (announced.has_error()) {
        co_return Error{Errc::invalid_input,
                        "cannot parse osorad's announcement: " + announced.error().message};
    }
    if (!announced->error.empty()) co_return Error{Errc::invalid_input, announced->error};
    co_return std::move(*announced);
}

asio::awaitable<Result<int>> sweep_on(SharedCommand command, std::string text, SweepOrder order) {
    command->set_limit(kCommandLimit);
    std::string input = protocol::encode(order);
    auto const line = co_await answer_of(command, std::move(text), std::move(input));
    if (line.has_error()) co_return line.error();
    auto const answer = protocol::decode<SweepAnswer>(*line);
    if (answer.has_error()) {
        co_return Error{Errc::invalid_input,
                        "cannot parse osorad's answer: " + answer.error().message};
    }
    co_return answer->left;
}

asio::awaitable<Result<void>> copy_to(SharedCommand command, std::string text,
                                      std::string content) {
    command->set_limit(kCopyLimit);
    auto const started = co_await command->start(std::move(text));
    if (started.has_error()) co_return started.error();
    auto const given = co_await command->give(std::move(content));
    if (given.has_error()) co_return given.error();
    auto const end = co_await command->wait();
    if (end.has_error()) co_return end.error();
    if (end->exit_code == 0 && end->signal == 0) co_return Result<void>();
    co_return Error{Errc::io,
                    fmt::format("exit code {}: {}", end->exit_code, command->complaint())};
}

std::string hash_of(std::string_view content) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr);
    std::string text;
    for (std::size_t i = 0; i < 8; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
}

}  // namespace osora::daemon
