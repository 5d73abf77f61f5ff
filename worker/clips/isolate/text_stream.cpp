#include "worker/clips/isolate/text_stream.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>

namespace osora::worker {
namespace {

constexpr std::uint64_t kMessageBytesMax = std::uint64_t{1} << 30;

Error stream_error(int error, char const* what) {
    return Error{Errc::io, fmt::format("{}: {}", what, std::generic_category().message(error))};
}

void add_number(std::string& bytes, std::uint64_t number) {
    bytes.append(reinterpret_cast<char const*>(&number), sizeof number);
}

/// Returns when there is something to read.
Result<void> wait_for_bytes(int fd, ReceiveLimits const& limits) {
    constexpr int kPoll_ms = 50;
    for (;;) {
        pollfd each{.fd = fd, .events = POLLIN, .revents = 0};
        if (::poll(&each, 1, kPoll_ms) > 0) return {};
        if (limits.cancel != nullptr && *limits.cancel) return Error{Errc::cancelled, "cancelled"};
        if (limits.until && std::chrono::steady_clock::now() > *limits.until)
            return Error{Errc::timed_out, "no answer"};
    }
}

/// false: the other end closed before the first byte, or in the middle.
Result<bool> fill(int fd, std::span<char> into, ReceiveLimits const& limits) {
    while (!into.empty()) {
        OSORA_TRY_VOID(wait_for_bytes(fd, limits));
        auto const got = ::recv(fd, into.data(), into.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0 || (got < 0 && errno == ECONNRESET)) return false;
        if (got < 0) return stream_error(errno, "receive");
        into = into.subspan(static_cast<std::size_t>(got));
    }
    return true;
}

Result<std::optional<std::uint64_t>> number_of(int fd, ReceiveLimits const& limits) {
    std::uint64_t number = 0;
    OSORA_TRY(bool const got, fill(fd, {reinterpret_cast<char*>(&number), sizeof number}, limits));
    if (!got) return std::optional<std::uint64_t>();
    if (number > kMessageBytesMax) return Error{Errc::corrupt, "a message is too long"};
    return std::optional(number);
}

}  // namespace

Result<void> send_texts(int fd, std::vector<std::string_view> const& texts) {
    std::string bytes;
    add_number(bytes, texts.size());
    for (auto const text : texts) {
        add_number(bytes, text.size());
        bytes += text;
    }
    std::string_view left = bytes;
    while (!left.empty()) {
        auto const sent = ::send(fd, left.data(), left.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return stream_error(errno, "send");
        left.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

Result<std::optional<Texts>> receive_texts(int fd, ReceiveLimits const& limits) {
    OSORA_TRY(auto const count, number_of(fd, limits));
    if (!count) return std::optional<Texts>();
    Texts texts;
    for (std::uint64_t i = 0; i < *count; ++i) {
        OSORA_TRY(auto const bytes, number_of(fd, limits));
        if (!bytes) return std::optional<Texts>();
        std::string text(static_cast<std::size_t>(*bytes), '\0');
        OSORA_TRY(bool const got, fill(fd, text, limits));
        if (!got) return std::optional<Texts>();
        texts.push_back(std::move(text));
    }
    return std::optional(std::move(texts));
}

}  // namespace osora::worker
