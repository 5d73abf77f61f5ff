// "Every event is in the journal before its actions run". The sync has a separate thread, so that a
// slow disk delays decisions but not heartbeats. Private to shells (Asio inside).
#pragma once

#include "base/env.hpp"
#include "daemon/journal/journal_file.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <deque>
#include <functional>
#include <variant>

namespace osora::daemon {

class JournalQueue {
public:
    using Act = std::function<void()>;
    struct Handlers {
        std::function<void(Error const&)> on_failed;  // a decision cannot be written; once
        /// Metrics or notices no longer fit, for the first time; the run continues without them.
        std::function<void(Error const&)> on_lossy;
    };

    /// Handlers and acts run on `executor`; it must not run them after this object is gone.
    JournalQueue(boost::asio::any_io_executor executor, JournalFile& journal, Env const& env,
                 Handlers handlers);

    /// Appends `record`. `sync`: a decision; later acts wait until it is durable. Without: for
    /// information (metrics, notices), which a full disk drops first.
    void append(protocol::JournalRecord record, bool sync);
    /// Runs `act` when every record that was appended with `sync` before is durable. Acts that wait
    /// when the journal fails are dropped; later acts run at once.
    void then(Act act);

    [[nodiscard]] bool has_failed() const { return failed_; }

private:
    using Entry = std::variant<protocol::JournalRecord, Act>;
    struct Waiting {
        Entry entry;
        bool sync = false;
    };
    void drain();
    void write(protocol::JournalRecord record, bool sync);
    void start_sync();
    void synced(Result<void> const& result);
    void fail(Error const& error);

    boost::asio::any_io_executor executor_;
    JournalFile& journal_;
    Env const& env_;
    Handlers handlers_;
    std::deque<Waiting> waiting_;
    bool draining_ = false;
    bool syncing_ = false;
    bool acts_wait_ = false;    // the sync in progress covers a record with `sync`
    bool sync_wanted_ = false;  // a record with `sync` was written since that sync began
    bool unsynced_ = false;     // a record without `sync` was written since that sync began
    bool lossy_ = false;
    bool failed_ = false;
    MonotonicTime last_sync_{};
    boost::asio::thread_pool thread_{1};  // last member: joined before the others are destroyed
};

}  // namespace osora::daemon
