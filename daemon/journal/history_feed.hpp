// Ingests a run's journal into the history every ten seconds and at the end, on a separate thread.
// A failure is a notice, never a failed run: the next osora command ingests again. Private to
// shells (Asio inside).
#pragma once

#include "base/task_group.hpp"
#include "daemon/controller/controller.hpp"

#include <boost/asio/thread_pool.hpp>

namespace osora::daemon {

class HistoryFeed {
public:
    using OnFailed = std::function<void(Error const&)>;

    /// `on_failed` gets the first failure.
    HistoryFeed(TaskGroup& tasks, protocol::RunPaths paths, Ingest ingest, OnFailed on_failed);

    void start();
    /// Ingests once more and waits for it.
    [[nodiscard]] boost::asio::awaitable<void> finish();

private:
    boost::asio::awaitable<void> loop();
    boost::asio::awaitable<void> ingest_once();

    TaskGroup& tasks_;
    protocol::RunPaths paths_;
    Ingest ingest_;
    OnFailed on_failed_;
    bool failed_ = false;
    boost::asio::thread_pool thread_{1};
};

}  // namespace osora::daemon
