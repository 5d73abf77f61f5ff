// An exit status says that the command itself has ended; its output may still be in transit, or a
// child of it may hold the stream open.
#include "daemon/backends/ssh/ssh_command.hpp"

#include "base/text/printable.hpp"

#include <fmt/format.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace osora::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kOutputGrace{1000};
constexpr std::size_t kOutBytesMax = 1 << 20, kErrBytesMax = 4096, kPiece = 32 * 1024;

struct SignalName {
    std::string_view name;
    int number;
};
constexpr std::array kSignals{
    SignalName{"KILL", SIGKILL}, SignalName{"TERM", SIGTERM}, SignalName{"ABRT", SIGABRT},
    SignalName{"SEGV", SIGSEGV}, SignalName{"INT", SIGINT},   SignalName{"HUP", SIGHUP},
    SignalName{"PIPE", SIGPIPE}, SignalName{"QUIT", SIGQUIT}, SignalName{"ILL", SIGILL},
    SignalName{"FPE", SIGFPE},   SignalName{"ALRM", SIGALRM}, SignalName{"USR1", SIGUSR1},
    SignalName{"USR2", SIGUSR2}};

int signal_number(std::string_view name) {
    auto const* const found = std::ranges::find(kSignals, name, &SignalName::name);
    return found == kSignals.end() ? SIGKILL : found->number;
}

}  // namespace

struct SshCommand::Channel {
    explicit Channel(ssh_session session) : raw(ssh_channel_new(session)) {
        callbacks.userdata = this;
        // Output is taken as it arrives, whoever reads packets: nothing waits unseen in libssh.
        callbacks.channel_data_function = [](ssh_session, ssh_channel, void* data,
                                             std::uint32_t length, int is_stderr, void* self) {
            auto& channel = *static_cast<Channel*>(self);
            std::string& into = is_stderr != 0 ? channel.err : channel.out;
            into.append(static_cast<char const*>(data), length);
            std::size_t const most = is_stderr != 0 ? kErrBytesMax : kOutBytesMax;
            if (into.size() > most) into.erase(0, into.size() - most);
            return static_cast<int>(length);
        };
        callbacks.channel_exit_status_function = [](ssh_session, ssh_channel, int status,
                                                    void* self) {
            static_cast<Channel*>(self)->end = End{status, 0};
        };
        callbacks.channel_exit_signal_function = [](ssh_session, ssh_channel, char const* name, int,
                                                    char const*, char const*, void* self) {
            static_cast<Channel*>(self)->end = End{0, signal_number(name ? name : "")};
        };
        ssh_callbacks_init(&callbacks);
        if (raw) ssh_set_channel_callbacks(raw.get(), &callbacks);
    }
    Channel(Channel const&) = delete;
    Channel& operator=(Channel const&) = delete;

    [[nodiscard]] bool is_over() const {
        return ssh_channel_is_closed(raw.get()) != 0 || ssh_channel_is_eof(raw.get()) != 0;
    }

    struct Free {
        void operator()(ssh_channel_struct* each) const { ssh_channel_free(each); }
    };
    ssh_channel_callbacks_struct callbacks{};
    std::unique_ptr<ssh_channel_struct, Free> raw;
    std::string out, err;
    std::optional<End> end;
    bool lost = false;
};

SshCommand::SshCommand(asio::any_io_executor executor, SshTarget target)
    : connection_(std::move(executor), std::move(target)) {}
SshCommand::~SshCommand() = default;

void SshCommand::interrupt() {
    connection_.interrupt();
}

void SshCommand::begin() {
    if (limit_) {
        connection_.set_limit(*limit_);
    } else {
        connection_.set_no_limit();
    }
}

asio::awaitable<Result<void>> SshCommand::start(std::string command) {
    auto opened = co_await connection_.open(limit_.value_or(std::chrono::hours(1)));
    if (opened.has_error()) co_return opened;
    channel_ = std::make_unique<Channel>(connection_.raw());
    ssh_channel const channel = channel_->raw.get();
    if (channel == nullptr) co_return connection_.failure("channel");
    std::function<int()> const open = [channel] { return ssh_channel_open_session(channel); };
    auto const session = co_await connection_.settle(open, SSH_AGAIN);
    if (session.has_error()) co_return session.error();
    if (*session != SSH_OK) co_return connection_.failure("session");
    std::function<int()> const run = [channel, &command] {
        return ssh_channel_request_exec(channel, command.c_str());
    };
    auto const running = co_await connection_.settle(run, SSH_AGAIN);
    if (running.has_error()) co_return running.error();
    if (*running != SSH_OK) co_return connection_.failure("command refused");
    co_return Result<void>();
}

asio::awaitable<Result<void>> SshCommand::give(std::string input) {
    begin();
    ssh_channel const channel = channel_->raw.get();
    std::size_t sent = 0;
    while (sent < input.size()) {
        auto const piece = static_cast<std::uint32_t>(std::min(input.size() - sent, kPiece));
        int const written = ssh_channel_write(channel, input.data() + sent, piece);
        read_all();
        if (channel_->end || ssh_channel_is_closed(channel) != 0) {
            co_return Result<void>();  // it closed its input early
        }
        if (written < 0) co_return connection_.failure("input");
        sent += static_cast<std::size_t>(written);
        // The peer's window update may have arrived in the meantime.
        if (written > 0 || ssh_channel_window_size(channel) > 0) continue;
        auto const news = co_await connection_.activity();
        if (news.has_error()) co_return news;
    }
    if (ssh_channel_send_eof(channel) == SSH_ERROR) co_return connection_.failure("input");
    std::function<int()> const flush = [this] { return ssh_blocking_flush(connection_.raw(), 0); };
    auto const flushed = co_await connection_.settle(flush, SSH_AGAIN);
    if (flushed.has_error()) co_return flushed.error();
    co_return Result<void>();
}

void SshCommand::read_all() {
    ssh_channel const channel = channel_->raw.get();
    bool const broken = ssh_channel_poll(channel, 0) == SSH_ERROR;
    // After the end of the output ssh_channel_poll() reads no more packets; this call does.
    if (ssh_channel_is_eof(channel) != 0) (void)ssh_channel_get_exit_status(channel);
    if (broken || ssh_is_connected(connection_.raw()) == 0) channel_->lost = true;
}

asio::awaitable<Result<std::string>> SshCommand::read_line() {
    begin();
    std::string& out = channel_->out;
    while (true) {
        read_all();
        if (std::size_t const end = out.find('\n'); end != out.npos) {
            std::string const line = out.substr(0, end);
            out.erase(0, end + 1);
            co_return line;
        }
        if (channel_->is_over()) co_return Error{Errc::not_found, "no line"};
        if (channel_->lost) co_return connection_.failure("connection");
        auto const news = co_await connection_.activity();
        if (news.has_error()) co_return news.error();
    }
}

asio::awaitable<Result<SshCommand::End>> SshCommand::wait() {
    begin();
    bool graced = false;
    while (true) {
        read_all();
        bool const closed = ssh_channel_is_closed(channel_->raw.get()) != 0;
        if (channel_->end && (closed || ssh_channel_is_eof(channel_->raw.get()) != 0)) break;
        if (channel_->lost || closed) break;
        if (channel_->end && !std::exchange(graced, true)) connection_.set_limit(kOutputGrace);
        auto const news = co_await connection_.activity();
        if (news.has_error() && news.error().code == Errc::timed_out && channel_->end) break;
        if (news.has_error()) co_return news.error();
    }
    if (channel_->end) co_return *channel_->end;
    co_return connection_.failure("connection");
}

std::string SshCommand::complaint() const {
    std::string_view text = channel_ ? std::string_view(channel_->err) : std::string_view();
    while (!text.empty() && std::string_view("\r\n ").find(text.back()) != text.npos) {
        text.remove_suffix(1);
    }
    if (std::size_t const last = text.rfind('\n'); last != text.npos) text.remove_prefix(last + 1);
    return printable(text.substr(0, 300));
}

}  // namespace osora::daemon
