// A stream socket that carries frames, for shells: decoded input by callback, bounded output queue,
// one notice when it is closed for whatever reason. Private to shells (Asio inside).
#pragma once

#include "base/task_group.hpp"
#include "daemon/net/stream.hpp"
#include "protocol/journal/framing.hpp"

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace osora::daemon {

class FrameConnection : public std::enable_shared_from_this<FrameConnection> {
public:
    using Socket = Stream::Socket;
    struct Handlers {
        std::function<void(std::string frame)> on_frame;
        /// Called once, never from inside a call of this class; not after abandon(). unreachable:
        /// the peer or the network ended it; cancelled: close() was called; invalid_input: it sent
        /// no frame.
        std::function<void(Error const& why)> on_closed;
    };
    /// A peer that does not read is dropped when this much output is queued for it.
    static constexpr std::size_t kOutputBytesMax = 8u << 20;

    /// `tasks` must outlive the connection's last use.
    FrameConnection(std::unique_ptr<Stream> stream, TaskGroup& tasks, std::string name);
    FrameConnection(Socket socket, TaskGroup& tasks, std::string name);  // plain
    void start(Handlers handlers);

    /// Queues a frame; ignored when the connection is closed.
    void send(std::string_view body);
    void close(std::string why);
    /// Once everything that was sent before is written.
    void close_after_sending(std::string why);
    /// Closes without calling the handlers.
    void abandon();
    /// Reads and delivers what has already arrived.
    void drain();

    [[nodiscard]] bool is_open() const { return open_; }
    [[nodiscard]] bool has_received() const { return received_; }

private:
    static asio::awaitable<void> read_loop(std::shared_ptr<FrameConnection> self);
    static asio::awaitable<void> write_loop(std::shared_ptr<FrameConnection> self);
    static asio::awaitable<void> write_one(std::shared_ptr<FrameConnection> self,
                                           std::string_view frame);
    /// False when there is nothing more to read now.
    bool read_once();
    void deliver(std::size_t bytes);
    void close_for(Error why);

    std::unique_ptr<Stream> stream_;
    TaskGroup& tasks_;
    std::string name_;
    Handlers handlers_;
    protocol::FrameReader reader_;
    std::array<std::byte, 1 << 16> buffer_;
    std::deque<std::string> output_;
    std::size_t output_bytes_ = 0;
    std::string close_reason_;  // not empty: close when the output is empty
    bool open_ = true;
    bool writing_ = false;
    bool received_ = false;
};

}  // namespace osora::daemon
