// Owns coroutines: every spawned task has a name, is cancelled and waited for, and its failure is
// reported. Single-threaded: use it from its executor's thread only. Private to shells (Asio
// inside).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace osora {

class TaskGroup {
public:
    /// Called once for a task that ends by an exception other than "cancelled".
    using OnFailure = std::function<void(std::string_view task, std::string_view what)>;

    TaskGroup(boost::asio::any_io_executor executor, OnFailure on_failure);
    TaskGroup(TaskGroup const&) = delete;
    TaskGroup& operator=(TaskGroup const&) = delete;
    /// Cancels running tasks; later failures are not reported.
    ~TaskGroup();

    /// Starts `task`; false (and the task never runs) once the group was cancelled.
    bool spawn(std::string name, boost::asio::awaitable<void> task);
    /// Refuses new tasks and cancels every task (cancellation type terminal).
    void cancel();
    /// Returns when no task is left; usually after cancel(). Cancelling the wait does not cancel
    /// the tasks.
    [[nodiscard]] boost::asio::awaitable<void> wait();

    [[nodiscard]] std::vector<std::string> running() const;
    [[nodiscard]] boost::asio::any_io_executor executor() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace osora
