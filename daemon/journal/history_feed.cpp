// The ingester runs on the thread; this coroutine reads its result.
#include "daemon/journal/history_feed.hpp"

#include "daemon/net/frame_connection.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

namespace osora::daemon {
namespace {

constexpr auto kInterval = std::chrono::seconds(10);

asio::awaitable<Result<void>> call(Ingest ingest, protocol::RunPaths paths) {
    co_return ingest(paths);
}

}  // namespace

HistoryFeed::HistoryFeed(TaskGroup& tasks, protocol::RunPaths paths, Ingest ingest,
                         OnFailed on_failed)
    : tasks_(tasks),
      paths_(std::move(paths)),
      ingest_(std::move(ingest)),
      on_failed_(std::move(on_failed)) {}

void HistoryFeed::start() {
    if (ingest_) tasks_.spawn("history", loop());
}

asio::awaitable<void> HistoryFeed::loop() {
    asio::steady_timer timer(tasks_.executor());
    while (true) {
        timer.expires_after(kInterval);
        co_await timer.async_wait(kToken);
        co_await ingest_once();
    }
}

asio::awaitable<void> HistoryFeed::finish() {
    if (ingest_) co_await ingest_once();
}

asio::awaitable<void> HistoryFeed::ingest_once() {
    auto work = call(ingest_, paths_);
    Result<void> const result =
        co_await asio::co_spawn(thread_, std::move(work), asio::use_awaitable);
    if (result.has_value() || failed_) co_return;
    failed_ = true;
    on_failed_(result.error());
}

}  // namespace osora::daemon
