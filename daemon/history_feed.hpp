// Hands a run's journal to the history every ten seconds and at the end, on a thread of its own. A
// failure is a log line, never a failed run: the next osora command ingests again. Private to
// shells (Asio inside).
#pragma once

#include "base/log.hpp"
#include "base/task_group.hpp"
#include "daemon/controller.hpp"

#include <boost/asio/thread_pool.hpp>

namespace osora::daemon {

class HistoryFeed {
public:
    HistoryFeed(TaskGroup& tasks, Logger& log, protocol::RunPaths paths, Ingest ingest);

    void start();
    /// Ingests once more and waits for it.
    [[nodiscard]] boost::asio::awaitable<void> finish();

private:
    boost::asio::awaitable<void> loop();
    boost::asio::awaitable<void> ingest_once();

    TaskGroup& tasks_;
    Logger& log_;
    protocol::RunPaths paths_;
    Ingest ingest_;
    bool failed_ = false;  // told once
    boost::asio::thread_pool thread_{1};
};

}  // namespace osora::daemon
