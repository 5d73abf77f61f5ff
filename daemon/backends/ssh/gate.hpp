// Lets a limited number in at once. Private to shells (Asio inside).
#pragma once

#include "daemon/net/stream.hpp"

#include <boost/asio/steady_timer.hpp>

#include <memory>

namespace osora::daemon {

class Gate {
public:
    Gate(asio::any_io_executor executor, int places)
        : state_(std::make_shared<State>(State{asio::steady_timer(std::move(executor)), places})) {
        state_->changed.expires_at(asio::steady_timer::time_point::max());
    }

    /// A place; it is free again when the last copy of the returned value is destroyed.
    [[nodiscard]] asio::awaitable<std::shared_ptr<void>> enter() {
        auto const state = state_;
        while (state->free == 0) co_await state->changed.async_wait(kToken);
        --state->free;
        co_return std::make_shared<Place>(state);
    }

private:
    struct State {
        asio::steady_timer changed;  // never expires; cancelled when a place becomes free
        int free;
    };
    struct Place {
        explicit Place(std::shared_ptr<State> owner) : state(std::move(owner)) {}
        Place(Place const&) = delete;
        Place& operator=(Place const&) = delete;
        ~Place() {
            ++state->free;
            boost::system::error_code ignored;
            state->changed.cancel(ignored);
        }
        std::shared_ptr<State> state;
    };
    std::shared_ptr<State> state_;
};

}  // namespace osora::daemon
