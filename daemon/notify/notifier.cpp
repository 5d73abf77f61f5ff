// Input fits into a pipe, so it is written before the child starts; output is read while the child
// runs, so that a program that prints much does not wait.
#include "daemon/notify/notifier.hpp"

#include "base/files/files.hpp"
#include "base/process/capture.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "daemon/net/frame_connection.hpp"
#include "daemon/process/orphans.hpp"
#include "daemon/process/process_end.hpp"
#include "plan/config/notify_checks.hpp"
#include "plan/config/receivers.hpp"
#include "protocol/notice_kinds.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace osora::daemon {
namespace {

constexpr std::size_t kNotifyOutputBytesMax = 2000;  // that are kept
constexpr std::size_t kNotifyShownBytesMax = 300;    // of a failure, in a notice
constexpr std::size_t kOrdersMax = 24;               // in flight
constexpr std::size_t kPipeBytes = 60'000;           // Linux: a pipe holds 64 KiB

struct NotifyPipe {
    Descriptor reading, writing;
};

Result<NotifyPipe> open_pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return file_error(errno, "open", "a pipe");
    return NotifyPipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// A pipe that holds `text`, then ends.
Result<Descriptor> filled_pipe(std::string_view text) {
    if (text.size() > kPipeBytes) return invalid("the message is too long");
    OSORA_TRY(auto pipe, open_pipe());
    auto const wrote = ::write(pipe.writing.get(), text.data(), text.size());
    if (wrote != static_cast<ssize_t>(text.size())) return file_error(errno, "write", "a pipe");
    return std::move(pipe.reading);
}

/// What a child prints: the first bytes are kept.
struct NotifyOutput {
    boost::asio::posix::stream_descriptor pipe;
    std::array<char, 4096> buffer{};
    std::string text = {};

    void keep(std::size_t got) {
        std::size_t const room = kNotifyOutputBytesMax - text.size();
        text.append(buffer.data(), std::min(room, got));
    }
    /// What is left in the pipe of a child that has ended; a process that outlives it may hold the
    /// pipe open.
    void keep_rest() {
        boost::system::error_code error;
        pipe.non_blocking(true, error);
        while (!error && text.size() < kNotifyOutputBytesMax) {
            std::size_t const got = pipe.read_some(asio::buffer(buffer), error);
            if (!error) keep(got);
        }
        pipe.close(error);
    }
};

asio::awaitable<void> drain(std::shared_ptr<NotifyOutput> output) {
    auto const space = asio::buffer(output->buffer);
    while (true) {
        auto const [error, got] = co_await output->pipe.async_read_some(space, kToken);
        if (error) co_return;
        output->keep(got);
    }
}

/// The end of what a failed program printed, as one line.
std::string shown_output(std::string_view output) {
    std::string text = printable(trimmed(output), "\n");
    std::ranges::replace(text, '\n', ' ');
    shorten_utf8(text, kNotifyShownBytesMax);
    return text;
}

std::string failure_of(ExitStatus const& status, std::string_view output) {
    if (status.signal == 0 && status.exit_code == 0) return {};
    std::string const shown = shown_output(output);
    return describe(status) + (shown.empty() ? "" : ": " + shown);
}

/// `osorad post` explains itself.
std::string failure_of_post(ExitStatus const& status, std::string_view output) {
    if (status.signal == 0 && status.exit_code == 0) return {};
    std::string shown = shown_output(output);
    return shown.empty() ? describe(status) : shown;
}

}  // namespace

Notifier::Notifier(NotifySetup setup, TaskGroup& tasks, Note note)
    : setup_(std::move(setup)),
      tasks_(tasks),
      note_(std::move(note)),
      occasions_(setup_.notify.on, setup_.series, setup_.host) {
    auto const& notify = setup_.notify;
    bool const heard = !notify.command.empty() || !notify.webhook.empty() || !notify.mail.empty();
    on_ = heard && !notify.on.empty();
    redactor_.add(setup_.environment);
    redactor_.add(notify.webhook);
    // These mark processes of ranks, which are killed when their node stops.
    remove_variable(setup_.environment, kRunMark);
    remove_variable(setup_.environment, kNodeMark);
}

std::vector<int> Notifier::running() const {
    std::vector<int> pids;
    for (auto const& [number, pid] : pids_) {
        if (pid > 0) pids.push_back(pid);
    }
    return pids;
}

void Notifier::send(NotifyMessage const& message) {
    if (!on_) return;
    std::vector<Order> orders;
    if (!setup_.notify.command.empty()) add_command(message, orders);
    if (!setup_.notify.webhook.empty()) add_webhook(message, orders);
    if (!setup_.notify.mail.empty()) add_mail(message, orders);
    for (Order& order : orders) {
        order.occasion = boost::describe::enum_to_string(message.occasion, "?");
        if (pids_.size() >= kOrdersMax) {
            record(order, fmt::format("{} others are still being sent", pids_.size()));
            continue;
        }
        int const number = next_number_++;
        pids_[number] = 0;
        tasks_.spawn("notification", carry_out(std::move(order), number));
    }
}

void Notifier::add_command(NotifyMessage const& message, std::vector<Order>& orders) {
    auto const& words = setup_.notify.command;
    Order order;
    order.receiver = "command " + shown_output(words.front());
    order.input = json_of(message, false) + "\n";
    SpawnOptions& program = order.program;
    program.program = words.front();
    if (words.front().find('/') == std::string::npos) {
        auto const found = find_in_path(words.front(), variable_or(setup_.environment, "PATH", ""));
        if (found.has_error()) return record(order, "no such program in PATH");
        program.program = *found;
    } else if (program.program.is_relative()) {
        program.program = setup_.base_dir / program.program;
    }
    program.arguments.assign(words.begin() + 1, words.end());
    program.environment = setup_.environment;
    add_variables(message, program.environment);
    program.working_directory = setup_.base_dir;
    orders.push_back(std::move(order));
}

void Notifier::add_webhook(NotifyMessage const& message, std::vector<Order>& orders) {
    Order order;
    order.receiver = "webhook " + plan::masked_webhook(setup_.notify.webhook);
    // The URL is a secret: not among the arguments, which every user of the machine can read.
    protocol::json::object request{{"url", setup_.notify.webhook},
                                   {"body", json_of(message, true)}};
    order.input = protocol::json::serialize(request);
    order.program.program = setup_.osorad;
    order.program.arguments = {"post"};
    order.program.environment = setup_.environment;
    orders.push_back(std::move(order));
}

void Notifier::add_mail(NotifyMessage const& message, std::vector<Order>& orders) {
    Order order;
    order.receiver = "mail to " + setup_.notify.mail;
    auto const sendmail = plan::find_sendmail(variable_or(setup_.environment, "PATH", ""));
    if (sendmail.has_error()) return record(order, "no sendmail in PATH, /usr/sbin or /usr/lib");
    order.input = mail_of(message, setup_.notify.mail);
    order.program.program = *sendmail;
    order.program.arguments = {"-t", "-i"};
    order.program.environment = setup_.environment;
    orders.push_back(std::move(order));
}

asio::awaitable<void> Notifier::carry_out(Order order, int number) {
    std::string const failure = co_await run(order, number);
    pids_.erase(number);
    record(order, failure);
}

asio::awaitable<std::string> Notifier::run(Order order, int number) {
    auto in = filled_pipe(order.input);
    if (in.has_error()) co_return in.error().message;
    auto out = open_pipe();
    if (out.has_error()) co_return out.error().message;
    order.program.descriptors = {{in->get(), STDIN_FILENO},
                                 {out->writing.get(), STDOUT_FILENO},
                                 {out->writing.get(), STDERR_FILENO}};
    auto child = spawn(order.program);
    if (child.has_error()) co_return child.error().message;
    pids_[number] = child->id.pid;
    in->reset();
    out->writing.reset();
    auto const executor = co_await asio::this_coro::executor;
    auto const output = std::make_shared<NotifyOutput>(
        NotifyOutput{boost::asio::posix::stream_descriptor(executor, out->reading.release())});
    tasks_.spawn("output of a notification", drain(output));
    asio::steady_timer timer(executor);
    auto const late = std::make_shared<bool>(false);
    timer.expires_after(setup_.limit);
    // wait_and_reap() kills the rest of its process group.
    timer.async_wait([late, id = child->id](boost::system::error_code error) {
        if (error) return;
        *late = true;
        signal_process(id, SIGKILL);
    });
    std::function<void()> const before = [] {};
    bool const posts = order.program.program == setup_.osorad;
    ExitStatus const status = co_await wait_and_reap(std::move(*child), before);
    timer.cancel();
    output->keep_rest();
    if (*late) {
        double const limit_s = std::chrono::duration<double>(setup_.limit).count();
        co_return fmt::format("killed: not done within {:.3g} s", limit_s);
    }
    co_return posts ? failure_of_post(status, output->text) : failure_of(status, output->text);
}

void Notifier::record(Order const& order, std::string const& failure) {
    protocol::RunNotice notice;
    notice.kind = failure.empty() ? protocol::kNotificationNotice : protocol::kNotificationFailed;
    notice.severity = failure.empty() ? "info" : "warning";
    notice.detail =
        failure.empty()
            ? fmt::format("notification sent: {}: {}", order.occasion, order.receiver)
            : fmt::format("notification failed: {}: {}", order.receiver, redactor_.redact(failure));
    ++recorded_;
    note_(std::move(notice));
}

asio::awaitable<void> Notifier::wait() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!pids_.empty()) {
        timer.expires_after(std::chrono::milliseconds(10));
        co_await timer.async_wait(kToken);
    }
}

}  // namespace osora::daemon
