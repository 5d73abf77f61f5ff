// Sends the messages of [notify] from the controller's loop, each by a child process with a time
// limit: the user's program, sendmail, or `osorad post` for a webhook. What became of each goes
// into the journal as a notice; nothing here fails or delays a run. Private to shells (Asio
// inside).
#pragma once

#include "base/process/process.hpp"
#include "base/secrets.hpp"
#include "base/task_group.hpp"
#include "daemon/notify/notify_setup.hpp"
#include "daemon/notify/occasions.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace osora::daemon {

class Notifier {
public:
    using Note = std::function<void(protocol::RunNotice)>;

    Notifier(NotifySetup setup, TaskGroup& tasks, Note note);

    /// False: nobody is notified, and every other call does nothing.
    [[nodiscard]] bool is_on() const { return on_; }
    Occasions& occasions() { return occasions_; }

    /// Starts to send; the journal has its event.
    void send(NotifyMessage const& message);
    /// Waits until every message was sent or given up.
    [[nodiscard]] boost::asio::awaitable<void> wait();
    /// Notices about what became of messages.
    [[nodiscard]] int recorded() const { return recorded_; }
    /// Children of this process: nobody else may kill or reap them.
    [[nodiscard]] std::vector<int> running() const;

private:
    struct Order {
        std::string receiver;  // "webhook http://host:80/...", for people
        std::string occasion;
        SpawnOptions program;
        std::string input;
    };

    void add_command(NotifyMessage const& message, std::vector<Order>& orders);
    void add_webhook(NotifyMessage const& message, std::vector<Order>& orders);
    void add_mail(NotifyMessage const& message, std::vector<Order>& orders);
    [[nodiscard]] boost::asio::awaitable<void> carry_out(Order order, int number);
    [[nodiscard]] boost::asio::awaitable<std::string> run(Order order, int number);
    void record(Order const& order, std::string const& failure);

    NotifySetup setup_;
    TaskGroup& tasks_;
    Note note_;
    bool on_ = false;
    Occasions occasions_;
    std::map<int, int> pids_;  // of orders in flight, by their number; 0: not started
    int next_number_ = 0, recorded_ = 0;
    Redactor redactor_;  // a program may print what it was given
};

}  // namespace osora::daemon
