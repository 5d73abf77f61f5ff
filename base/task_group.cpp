// Completion handlers share the state with the group, so that either may outlive the other.
#include "base/task_group.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <list>

namespace osora {

namespace asio = boost::asio;

namespace {

struct Task {
    std::string name;
    asio::cancellation_signal signal;
};

/// The reason for a task's failure; empty when it succeeded or was cancelled.
std::string describe(std::exception_ptr const& failure) {
    if (!failure) return "";
    try {
        std::rethrow_exception(failure);
    } catch (boost::system::system_error const& error) {
        return error.code() == asio::error::operation_aborted ? "" : error.what();
    } catch (std::exception const& error) {
        return error.what();
    }
}

}  // namespace

struct TaskGroup::State {
    State(asio::any_io_executor on, OnFailure report)
        : executor(on), on_failure(std::move(report)), emptied(on) {
        emptied.expires_at(asio::steady_timer::time_point::max());
    }

    asio::any_io_executor executor;
    OnFailure on_failure;
    std::list<Task> tasks;  // a list: cancellation signals do not move
    bool closed = false;
    asio::steady_timer emptied;  // never expires; cancelled when there may be no task left
};

TaskGroup::TaskGroup(asio::any_io_executor executor, OnFailure on_failure)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_failure))) {}

TaskGroup::~TaskGroup() {
    state_->on_failure = nullptr;
    cancel();
}

bool TaskGroup::spawn(std::string name, asio::awaitable<void> task) {
    if (state_->closed) return false;
    auto const self = state_->tasks.emplace(state_->tasks.end());
    self->name = std::move(name);
    auto ended = [state = state_, self](std::exception_ptr failure) {
        std::string const name = std::move(self->name);
        state->tasks.erase(self);
        if (state->tasks.empty()) state->emptied.cancel();
        std::string const what = describe(failure);
        if (!what.empty() && state->on_failure) state->on_failure(name, what);
    };
    asio::co_spawn(state_->executor, std::move(task),
                   asio::bind_cancellation_slot(self->signal.slot(), std::move(ended)));
    return true;
}

void TaskGroup::cancel() {
    state_->closed = true;
    // A cancelled task may end, and leave the list, while its signal is emitted.
    for (auto each = state_->tasks.begin(); each != state_->tasks.end();) {
        auto const current = each++;
        current->signal.emit(asio::cancellation_type::terminal);
    }
}

asio::awaitable<void> TaskGroup::wait() {
    auto const state = state_;
    auto const token = asio::as_tuple(asio::use_awaitable);
    while (!state->tasks.empty()) {
        co_await state->emptied.async_wait(token);
        auto const cancelled = co_await asio::this_coro::cancellation_state;
        if (cancelled.cancelled() != asio::cancellation_type::none) co_return;
    }
}

std::vector<std::string> TaskGroup::running() const {
    std::vector<std::string> names;
    for (Task const& task : state_->tasks) names.push_back(task.name);
    return names;
}

asio::any_io_executor TaskGroup::executor() const {
    return state_->executor;
}

}  // namespace osora
