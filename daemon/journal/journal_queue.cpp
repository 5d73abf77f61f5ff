// One sync at a time; records that arrive meanwhile share the next one. Records that are for
// information only are synced at most once a second.
#include "daemon/journal/journal_queue.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace osora::daemon {
namespace {

constexpr MonotonicTime kInformationSync = std::chrono::seconds(1);

}  // namespace

JournalQueue::JournalQueue(boost::asio::any_io_executor executor, JournalFile& journal,
                           Env const& env, Handlers handlers)
    : executor_(std::move(executor)),
      journal_(journal),
      env_(env),
      handlers_(std::move(handlers)),
      last_sync_(env.now()) {}

void JournalQueue::append(protocol::JournalRecord record, bool sync) {
    waiting_.push_back({std::move(record), sync});
    drain();
}

void JournalQueue::then(Act act) {
    waiting_.push_back({std::move(act), false});
    drain();
}

void JournalQueue::drain() {
    if (draining_) return;
    draining_ = true;
    while (!waiting_.empty()) {
        bool const is_act = std::holds_alternative<Act>(waiting_.front().entry);
        if (is_act && (sync_wanted_ || acts_wait_) && !failed_) break;
        Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        if (is_act) {
            std::get<Act>(next.entry)();
        } else {
            write(std::get<protocol::JournalRecord>(std::move(next.entry)), next.sync);
        }
    }
    draining_ = false;
    bool const due = unsynced_ && env_.now() - last_sync_ >= kInformationSync;
    if (!syncing_ && !failed_ && (sync_wanted_ || due)) start_sync();
}

void JournalQueue::write(protocol::JournalRecord record, bool sync) {
    Importance const importance = failed_ ? Importance::final_record
                                  : sync  ? Importance::decision
                                          : Importance::metric;
    auto const written = journal_.append(std::move(record), importance);
    if (written.has_value()) {
        (sync ? sync_wanted_ : unsynced_) = true;
    } else if (!failed_ && sync) {
        fail(written.error());
    } else if (!failed_ && !std::exchange(lossy_, true)) {
        handlers_.on_lossy(written.error());
    }
}

void JournalQueue::start_sync() {
    syncing_ = true;
    acts_wait_ = sync_wanted_;
    sync_wanted_ = unsynced_ = false;
    last_sync_ = env_.now();
    boost::asio::post(thread_, [this] {
        auto result = journal_.sync();
        boost::asio::post(executor_, [this, result = std::move(result)] { synced(result); });
    });
}

void JournalQueue::synced(Result<void> const& result) {
    syncing_ = acts_wait_ = false;
    if (result.has_error() && !failed_) fail(result.error());
    drain();
}

void JournalQueue::fail(Error const& error) {
    failed_ = true;
    waiting_.clear();
    handlers_.on_failed(error);
}

}  // namespace osora::daemon
