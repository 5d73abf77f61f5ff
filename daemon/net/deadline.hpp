// A limit for what a coroutine does with a socket. Private to shells (Asio inside).
#pragma once

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>

namespace osora::daemon {

/// During its lifetime: cancels the operations of `socket` once, when `limit` is over.
template <class Socket>
class Deadline {
public:
    Deadline(Socket& socket, std::chrono::milliseconds limit)
        : timer_(socket.get_executor()), state_(std::make_shared<State>(State{&socket, false})) {
        timer_.expires_after(limit);
        timer_.async_wait([state = state_](boost::system::error_code error) {
            if (error || state->socket == nullptr) return;
            state->expired = true;
            boost::system::error_code ignored;
            state->socket->cancel(ignored);
        });
    }
    ~Deadline() { state_->socket = nullptr; }
    Deadline(Deadline const&) = delete;
    Deadline& operator=(Deadline const&) = delete;

    [[nodiscard]] bool expired() const { return state_->expired; }

private:
    struct State {
        Socket* socket;
        bool expired;
    };
    boost::asio::steady_timer timer_;
    std::shared_ptr<State> state_;
};

}  // namespace osora::daemon
