// Serves the metrics of a run ([daemon] metrics) from the controller's loop. A port that cannot be
// used is a notice, never the end of a run; clients that are slow or silent are closed, and nobody
// waits for them. Driven by the controller, which feeds it each record that it writes.
#pragma once

#include "base/log/log.hpp"
#include "base/task_group.hpp"
#include "daemon/metrics/run_metrics.hpp"

#include <memory>
#include <optional>
#include <string>

namespace osora {
class HttpServer;
}

namespace osora::daemon {

struct MetricsSetup {
    std::string listen;  // [daemon] metrics; empty: none
    std::string host;    // of this controller
    MetricsFacts facts;
};

class MetricsServer {
public:
    MetricsServer(MetricsSetup setup, TaskGroup& tasks);
    ~MetricsServer();
    MetricsServer(MetricsServer const&) = delete;
    MetricsServer& operator=(MetricsServer const&) = delete;

    /// False: every other call does nothing.
    [[nodiscard]] bool is_on() const { return !setup_.listen.empty(); }
    void take(protocol::JournalRecord const& record);
    /// Begins to serve. The notice for the journal: the address, or why there is none.
    [[nodiscard]] std::optional<protocol::RunNotice> start(Logger& log);

private:
    [[nodiscard]] Result<std::string> listen();
    [[nodiscard]] std::string text(MetricsFormat format);

    MetricsSetup setup_;
    TaskGroup& tasks_;
    RunMetrics metrics_;
    std::unique_ptr<HttpServer> server_;
    // The newest text, for clients that ask again before anything has happened.
    std::string text_;
    MetricsFormat format_ = MetricsFormat::open_metrics;
    std::optional<std::uint64_t> records_;  // that are in text_
};

}  // namespace osora::daemon
