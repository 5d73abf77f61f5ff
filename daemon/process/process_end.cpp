// A pidfd becomes readable when its process has ended; until it is reaped no other process can get
// its number, nor its group's.
#include "daemon/process/process_end.hpp"

#include "daemon/net/frame_connection.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

namespace osora::daemon {

asio::awaitable<ExitStatus> wait_and_reap(Child child, std::function<void()> before) {
    asio::posix::stream_descriptor handle(co_await asio::this_coro::executor,
                                          child.pidfd.release());
    while (!has_ended(child)) {
        co_await handle.async_wait(asio::posix::stream_descriptor::wait_read, kToken);
    }
    before();
    signal_group(child, SIGKILL);
    co_return reap(child);
}

}  // namespace osora::daemon
