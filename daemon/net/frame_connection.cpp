// A read waits for readiness and then does not block, so that drain() may read between two turns of
// the loop without changing the order.
#include "daemon/net/frame_connection.hpp"

#include <boost/asio/post.hpp>

namespace osora::daemon {
namespace {

Error broken(boost::system::error_code error) {
    bool const by_peer = error == asio::error::eof;
    return {Errc::unreachable, by_peer ? "closed by the peer" : error.message()};
}

}  // namespace

FrameConnection::FrameConnection(std::unique_ptr<Stream> stream, TaskGroup& tasks, std::string name)
    : stream_(std::move(stream)), tasks_(tasks), name_(std::move(name)) {}

FrameConnection::FrameConnection(Socket socket, TaskGroup& tasks, std::string name)
    : FrameConnection(std::make_unique<Stream>(std::move(socket)), tasks, std::move(name)) {}

void FrameConnection::start(Handlers handlers) {
    handlers_ = std::move(handlers);
    boost::system::error_code error;
    stream_->socket().non_blocking(true, error);
    if (error) return close_for(broken(error));
    tasks_.spawn(name_ + " reader", read_loop(shared_from_this()));
}

asio::awaitable<void> FrameConnection::read_loop(std::shared_ptr<FrameConnection> self) {
    while (self->open_) {
        if (!self->stream_->has_buffered()) {
            auto const [error] =
                co_await self->stream_->socket().async_wait(Socket::wait_read, kToken);
            if (error && self->open_) self->close_for(broken(error));
        }
        if (self->open_) self->read_once();
    }
}

void FrameConnection::drain() {
    constexpr int kMost = 64;  // more than a socket buffers: the peer keeps writing
    for (int i = 0; i < kMost && open_ && read_once();) ++i;
}

bool FrameConnection::read_once() {
    boost::system::error_code error;
    std::size_t const got = stream_->read_some(buffer_, error);
    if (error == asio::error::would_block || error == asio::error::interrupted) return false;
    if (error) {
        close_for(broken(error));
        return false;
    }
    deliver(got);
    return true;
}

void FrameConnection::deliver(std::size_t bytes) {
    auto frames = reader_.feed(std::span(buffer_).first(bytes));
    if (frames.has_error()) return close_for(frames.error());
    for (std::string& frame : *frames) {
        if (!open_) return;
        received_ = true;
        handlers_.on_frame(std::move(frame));
    }
}

void FrameConnection::send(std::string_view body) {
    if (!open_ || !close_reason_.empty()) return;
    auto frame = protocol::encode_frame(body);
    if (frame.has_error()) return close_for(frame.error());
    output_bytes_ += frame->size();
    if (output_bytes_ > kOutputBytesMax) return close("the peer does not read");
    output_.push_back(std::move(*frame));
    if (writing_) return;
    writing_ = true;  // the loop may have finished before spawn() returns
    if (!tasks_.spawn(name_ + " writer", write_loop(shared_from_this()))) writing_ = false;
}

asio::awaitable<void> FrameConnection::write_loop(std::shared_ptr<FrameConnection> self) {
    while (self->open_ && !self->output_.empty()) {
        std::string const frame = std::move(self->output_.front());
        self->output_.pop_front();
        co_await write_one(self, frame);
        self->output_bytes_ -= frame.size();
    }
    self->writing_ = false;
    if (!self->close_reason_.empty()) self->close(self->close_reason_);
}

asio::awaitable<void> FrameConnection::write_one(std::shared_ptr<FrameConnection> self,
                                                 std::string_view frame) {
    while (self->open_ && !frame.empty()) {
        boost::system::error_code error;
        frame.remove_prefix(self->stream_->write_some(frame, error));
        if (error == asio::error::would_block || error == asio::error::interrupted) {
            auto const [broke] =
                co_await self->stream_->socket().async_wait(Socket::wait_write, kToken);
            error = broke;
        }
        if (error && self->open_) self->close_for(broken(error));
    }
}

void FrameConnection::close(std::string why) {
    close_for({Errc::cancelled, std::move(why)});
}

void FrameConnection::close_for(Error why) {
    if (!open_) return;
    open_ = false;
    boost::system::error_code ignored;
    stream_->socket().close(ignored);
    asio::post(stream_->socket().get_executor(), [self = shared_from_this(), why = std::move(why)] {
        if (self->handlers_.on_closed) self->handlers_.on_closed(why);
        self->handlers_ = {};
    });
}

void FrameConnection::close_after_sending(std::string why) {
    if (!writing_ && output_.empty()) return close(std::move(why));
    close_reason_ = std::move(why);
}

void FrameConnection::abandon() {
    handlers_.on_closed = nullptr;
    close("abandoned");
}

}  // namespace osora::daemon
