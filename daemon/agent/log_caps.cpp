#include "daemon/agent/log_caps.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace osora::daemon {
namespace {

constexpr auto kEvery = std::chrono::milliseconds(250);
constexpr auto kPatience = std::chrono::seconds(5);

}  // namespace

struct LogCaps::Shared {
    struct Log {
        int rank = 0;
        LogCap cap;  // only the thread uses it
        bool ended = false;
    };
    Hold hold;
    std::mutex mutex;
    std::condition_variable changed;
    std::map<int, std::shared_ptr<Log>> logs;  // by pid
    std::vector<Failure> failures;
    bool closed = false, ended = false;
    std::thread thread;

    static void run(std::shared_ptr<Shared> const& self) {
        for (bool last = false; !last;) {
            std::vector<std::shared_ptr<Log>> due;
            {
                std::unique_lock lock(self->mutex);
                self->changed.wait_for(lock, kEvery, [&self] { return self->closed; });
                last = self->closed;
                for (auto const& [pid, log] : self->logs) due.push_back(log);
                std::erase_if(self->logs, [](auto const& each) { return each.second->ended; });
            }
            for (auto const& log : due) {
                auto const held = self->hold(log->cap);
                if (!held.has_error()) continue;
                std::unique_lock const lock(self->mutex);
                self->failures.push_back({log->rank, held.error()});
            }
        }
        std::unique_lock const lock(self->mutex);
        self->ended = true;
        self->changed.notify_all();
    }
};

LogCaps::LogCaps(Hold hold) : shared_(std::make_shared<Shared>()) {
    shared_->hold = std::move(hold);
}

LogCaps::~LogCaps() {
    std::unique_lock lock(shared_->mutex);
    shared_->closed = true;
    shared_->changed.notify_all();
    if (!shared_->thread.joinable()) return;
    shared_->changed.wait_for(lock, kPatience, [this] { return shared_->ended; });
    bool const ended = shared_->ended;
    lock.unlock();
    ended ? shared_->thread.join() : shared_->thread.detach();
}

void LogCaps::add(int pid, int rank, LogCap cap) {
    std::unique_lock const lock(shared_->mutex);
    shared_->logs[pid] = std::make_shared<Shared::Log>(Shared::Log{rank, std::move(cap)});
    if (!shared_->thread.joinable()) {
        shared_->thread = std::thread([self = shared_] { Shared::run(self); });
    }
}

void LogCaps::finish(int pid) {
    std::unique_lock const lock(shared_->mutex);
    auto const found = shared_->logs.find(pid);
    if (found != shared_->logs.end()) found->second->ended = true;
}

std::vector<LogCaps::Failure> LogCaps::take_failures() {
    std::unique_lock const lock(shared_->mutex);
    return std::exchange(shared_->failures, {});
}

}  // namespace osora::daemon
