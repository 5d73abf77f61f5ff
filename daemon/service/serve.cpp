// STATE/daemon.json is the list of runs; it is on the disk before a run counts as accepted.
#include "daemon/service/serve.hpp"

#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "base/files/own_folder.hpp"
#include "daemon/journal/journaled_status.hpp"
#include "daemon/net/command_socket.hpp"
#include "daemon/service/notify_systemd.hpp"
#include "daemon/service/served_list.hpp"
#include "daemon/service/served_run.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/messages/daemon_messages.hpp"
#include "protocol/messages/message.hpp"
#include "protocol/run_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <map>
#include <optional>

namespace osora::daemon {
namespace {

using protocol::DaemonReply;

constexpr std::size_t kRunsMax = 1000;

class Daemon {
public:
    Daemon(ServeOptions options, Env& env, Logger& log);
    [[nodiscard]] Result<int> run();

private:
    [[nodiscard]] CommandSocket::Session session();
    [[nodiscard]] std::string answer(std::string const& frame, bool& greeted);
    [[nodiscard]] DaemonReply about() const;
    [[nodiscard]] DaemonReply command(protocol::DaemonHello const& hello, bool& greeted) const;
    [[nodiscard]] DaemonReply command(protocol::AdoptRun const& take, bool& greeted);
    [[nodiscard]] DaemonReply command(protocol::DaemonStatus const& ask, bool& greeted) const;
    [[nodiscard]] DaemonReply command(protocol::StopDaemon const& stop, bool& greeted);

    [[nodiscard]] std::filesystem::path list_file() const;
    [[nodiscard]] Result<void> write_list() const;
    /// The real path of a run of this state folder; invalid_input for anything else.
    [[nodiscard]] Result<std::filesystem::path> own_run(std::string const& run_dir) const;
    void take_known_runs();
    /// `reopen_after`: ServedRunOptions.
    void serve(std::string const& run_dir, std::optional<int> reopen_after);
    asio::awaitable<void> serve_to_end(std::string run_dir);
    asio::awaitable<void> watch_signals();
    void end(int exit_code);

    ServeOptions options_;
    Env& env_;
    Logger& log_;
    asio::io_context context_{1};
    TaskGroup tasks_;
    CommandSocket commands_;
    std::map<std::string, std::unique_ptr<ServedRun>> runs_;  // by run directory
    MonotonicTime started_;
    bool ended_ = false;
    int exit_code_ = 0;
};

Daemon::Daemon(ServeOptions options, Env& env, Logger& log)
    : options_(std::move(options)),
      env_(env),
      log_(log),
      tasks_(context_.get_executor(),
             [this](std::string_view task, std::string_view what) {
                 log_.error("task failed", {{"task", task}, {"what", what}});
                 end(kExitInternal);
             }),
      commands_(tasks_, log, [this] { return session(); }),
      started_(env.now()) {}

Result<int> Daemon::run() {
    tasks_.spawn("signals", watch_signals());
    take_known_runs();
    CommandPlace const place{
        .socket = options_.state_dir / protocol::kDaemonSocket,
        .pointer = options_.state_dir / protocol::kDaemonSocketPointer,
        .short_name = fmt::format("daemon-{:016x}.sock",
                                  std::hash<std::string>()(options_.state_dir.string())),
        .runtime_dir = options_.runtime_dir};
    OSORA_TRY_VOID(commands_.listen(place));
    log_.info("daemon ready", {{"socket", commands_.path().string()}, {"runs", runs_.size()}});
    auto const notified = notify_systemd(options_.notify_socket, "READY=1");
    if (notified.has_error())
        log_.warning("cannot notify systemd", {{"why", notified.error().message}});
    context_.run();
    (void)notify_systemd(options_.notify_socket, "STOPPING=1");
    return exit_code_;
}

void Daemon::end(int exit_code) {
    if (std::exchange(ended_, true)) return;
    exit_code_ = exit_code;
    context_.stop();
}

asio::awaitable<void> Daemon::watch_signals() {
    asio::signal_set signals(context_, SIGTERM, SIGINT);
    auto const [error, signal] = co_await signals.async_wait(kToken);
    log_.info("daemon stopping", {{"signal", signal}, {"runs", runs_.size()}});
    end(0);
}

std::filesystem::path Daemon::list_file() const {
    return protocol::StatePaths{options_.state_dir}.daemon_file();
}

Result<void> Daemon::write_list() const {
    ServedList list;
    for (auto const& [dir, run] : runs_) {
        list.runs.push_back(dir);
        if (auto const after = run->reopen_after()) list.reopening.push_back({dir, *after});
    }
    return write_file_atomic(list_file(), protocol::encode(list) + "\n", 0600);
}

Result<std::filesystem::path> Daemon::own_run(std::string const& run_dir) const {
    std::error_code error;
    auto const dir = std::filesystem::canonical(run_dir, error);
    bool const is_run = !error &&
                        dir.parent_path() == protocol::StatePaths{options_.state_dir}.runs() &&
                        protocol::is_run_folder(dir.filename().string());
    if (!is_run) {
        return invalid(fmt::format("{} is no run of {}", run_dir, options_.state_dir.string()));
    }
    OSORA_TRY_VOID(check_own_folder(dir, Parents::believed));
    return dir;
}

void Daemon::take_known_runs() {
    auto const text = read_file(list_file());
    if (text.has_error()) return;
    auto const list = protocol::decode<ServedList>(*text);
    if (list.has_error()) {
        log_.error("cannot read the list of runs", {{"why", list.error().message}});
        return;
    }
    std::map<std::string, int> reopening;
    for (auto const& each : list->reopening) reopening[each.run] = each.incarnations;
    for (std::string const& each : list->runs) {
        auto const dir = own_run(each);
        if (dir.has_value()) {
            auto const found = reopening.find(each);
            serve(dir->string(),
                  found == reopening.end() ? std::nullopt : std::optional<int>(found->second));
        } else {
            log_.error("cannot serve run", {{"why", dir.error().message}});
        }
    }
}

void Daemon::serve(std::string const& run_dir, std::optional<int> reopen_after) {
    ServedRunOptions options{.paths = {run_dir},
                             .reopen_after = reopen_after,
                             .osorad = options_.osorad,
                             .environment = options_.environment};
    runs_[run_dir] = std::make_unique<ServedRun>(std::move(options), env_, log_);
    tasks_.spawn("run " + run_dir, serve_to_end(run_dir));
}

asio::awaitable<void> Daemon::serve_to_end(std::string run_dir) {
    // The caller writes the list first.
    co_await asio::post(asio::use_awaitable);
    co_await runs_[run_dir]->run();
    runs_.erase(run_dir);
    auto const written = write_list();
    if (written.has_error()) {
        log_.error("cannot write the list of runs", {{"why", written.error().message}});
    }
}

CommandSocket::Session Daemon::session() {
    auto const greeted = std::make_shared<bool>(false);
    return [this, greeted](std::string const& frame) { return answer(frame, *greeted); };
}

std::string Daemon::answer(std::string const& frame, bool& greeted) {
    DaemonReply reply = about();
    auto const message = protocol::decode_message<protocol::ToDaemon>(frame);
    if (message.has_error()) {
        reply.ok = false;
        reply.message = message.error().message;
    } else if (!greeted && !std::holds_alternative<protocol::DaemonHello>(*message)) {
        reply.ok = false;
        reply.message = "say hello first";
    } else {
        reply = std::visit([&](auto const& each) { return command(each, greeted); }, *message);
    }
    if (!reply.ok) log_.warning("command refused", {{"why", reply.message}});
    return protocol::encode_message(protocol::FromDaemon(reply));
}

DaemonReply Daemon::about() const {
    DaemonReply reply;
    reply.version = options_.version;
    reply.pid = ::getpid();
    reply.up_s = std::chrono::duration<double>(env_.now() - started_).count();
    for (auto const& [dir, run] : runs_) {
        reply.runs.push_back({dir, run->controller_pid(), run->restarts()});
    }
    return reply;
}

DaemonReply Daemon::command(protocol::DaemonHello const& hello, bool& greeted) const {
    DaemonReply reply = about();
    greeted = reply.ok = hello.protocol == protocol::kDaemonProtocol;
    if (!reply.ok) {
        reply.message = fmt::format(
            "the daemon (osorad {}) speaks protocol {}, this osora ({}) {}: restart it with "
            "osora daemon stop, osora daemon start",
            options_.version, protocol::kDaemonProtocol, hello.version, hello.protocol);
    }
    return reply;
}

/// nullopt: the run is not to be reopened.
Result<std::optional<int>> reopen_after(protocol::AdoptRun const& take,
                                        std::filesystem::path const& run_dir) {
    if (!take.resume) return std::optional<int>();
    OSORA_TRY(auto const status, read_run_status(run_dir));
    return std::optional<int>(status.incarnations);
}

DaemonReply Daemon::command(protocol::AdoptRun const& take, bool&) {
    DaemonReply reply = about();
    auto const dir = own_run(take.run_dir);
    if (dir.has_error()) {
        reply.message = dir.error().message;
    } else if (runs_.contains(dir->string())) {
        reply.message = dir->string() + ": the daemon has this run already";
    } else if (runs_.size() >= kRunsMax) {
        reply.message = fmt::format("the daemon has {} runs already", runs_.size());
    } else if (auto const after = reopen_after(take, *dir); after.has_error()) {
        reply.message = after.error().message;
    } else {
        serve(dir->string(), *after);
        auto const written = write_list();
        if (written.has_value()) return reply;
        // The daemon serves it anyway, until the daemon dies.
        log_.error("cannot write the list of runs", {{"why", written.error().message}});
        return reply;
    }
    reply.ok = false;
    return reply;
}

DaemonReply Daemon::command(protocol::DaemonStatus const&, bool&) const {
    return about();
}

DaemonReply Daemon::command(protocol::StopDaemon const&, bool&) {
    // After the reply.
    asio::post(context_, [this] { asio::post(context_, [this] { end(0); }); });
    log_.info("daemon stopping", {{"by", "osora"}, {"runs", runs_.size()}});
    return about();
}

/// Creates the state folder and its runs, or closes them to other users; returns those that were
/// open.
Result<std::vector<std::string>> close_state(ServeOptions const& options) {
    bool const believed = variable_or(options.environment, "OSORA_TRUST_PARENTS", "") == "1";
    auto const parents = believed ? Parents::believed : Parents::checked;
    std::vector<std::string> closed;
    for (auto const& folder : {options.state_dir, protocol::StatePaths{options.state_dir}.runs()}) {
        OSORA_TRY(auto const own, make_own_folder(folder, parents));
        if (own.mended) closed.push_back(folder.string());
    }
    return closed;
}

}  // namespace

Result<int> run_daemon(ServeOptions options, Env& env, Logger& log) {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    auto const own = close_state(options);
    if (own.has_error()) return own.error();
    for (auto const& folder : *own) log.info("closed to other users", {{"folder", folder}});
    std::error_code error;
    options.state_dir = std::filesystem::canonical(options.state_dir, error);
    if (error) return file_error(error.value(), "enter folder", options.state_dir);
    auto lock = FileLock::acquire(protocol::StatePaths{options.state_dir}.daemon_lock());
    if (lock.has_error()) return std::move(lock).error().in("another daemon");
    Daemon daemon(std::move(options), env, log);
    return daemon.run();
}

}  // namespace osora::daemon
