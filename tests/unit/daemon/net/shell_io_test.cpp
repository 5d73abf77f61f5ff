// Connections and the journal queue on a real io_context, without a network: a socketpair, a file
// in memory. Nothing waits for time to pass.
#include "base/files/descriptor.hpp"
#include "daemon/journal/journal_queue.hpp"
#include "daemon/net/frame_connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>

#include <array>
#include <condition_variable>
#include <mutex>

namespace osora::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Connections : public testing::Test {
protected:
    Connections() : tasks_(context_.get_executor(), [](std::string_view, std::string_view) {}) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        theirs_.reset(ends[1]);
        FrameConnection::Socket socket(context_, asio::generic::stream_protocol(AF_UNIX, 0),
                                       ends[0]);
        connection_ = std::make_shared<FrameConnection>(std::move(socket), tasks_, "test");
        connection_->start(
            {.on_frame = [this](std::string frame) { frames_.push_back(std::move(frame)); },
             .on_closed = [this](Error const& why) { closed_.push_back(why); }});
    }
    void they_send(std::string_view bytes) {
        ASSERT_EQ(::send(theirs_.get(), bytes.data(), bytes.size(), 0),
                  static_cast<ssize_t>(bytes.size()));
    }
    std::string they_receive() {
        std::string content(1 << 16, '\0');
        ssize_t const got = ::recv(theirs_.get(), content.data(), content.size(), MSG_DONTWAIT);
        content.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return content;
    }
    static std::string frame(std::string_view body) { return protocol::encode_frame(body).value(); }

    asio::io_context context_{1};
    TaskGroup tasks_;
    Descriptor theirs_;
    std::shared_ptr<FrameConnection> connection_;
    std::vector<std::string> frames_;
    std::vector<Error> closed_;
};

TEST_F(Connections, FramesArriveWholeAndInOrder) {
    std::string const both = frame("one") + frame("two");
    they_send(both.substr(0, 5));
    context_.poll();
    EXPECT_THAT(frames_, IsEmpty());
    they_send(both.substr(5));
    context_.poll();
    EXPECT_THAT(frames_, ElementsAre("one", "two"));
}

TEST_F(Connections, DrainReadsWhatIsThereBeforeTheLoopDoes) {
    context_.poll();
    they_send(frame("last words"));
    theirs_.reset();
    connection_->drain();
    EXPECT_THAT(frames_, ElementsAre("last words"));
    connection_->abandon();
    context_.poll();
    EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(Connections, TheEndIsReportedOnceWithItsReason) {
    theirs_.reset();
    context_.poll();
    ASSERT_EQ(closed_.size(), 1u);
    EXPECT_EQ(closed_[0].code, Errc::unreachable);
    EXPECT_FALSE(connection_->is_open());
    connection_->send("ignored");
    connection_->close("again");
    context_.poll();
    EXPECT_EQ(closed_.size(), 1u);
}

TEST_F(Connections, BytesThatAreNoFrameCloseIt) {
    they_send("\xff\xff\xff\xff");
    context_.poll();
    ASSERT_EQ(closed_.size(), 1u);
    EXPECT_EQ(closed_[0].code, Errc::invalid_input);
}

TEST_F(Connections, CloseAfterSendingSendsFirst) {
    connection_->send("bye");
    connection_->close_after_sending("done");
    connection_->send("too late");
    context_.poll();
    EXPECT_EQ(they_receive(), frame("bye"));
    ASSERT_EQ(closed_.size(), 1u);
    EXPECT_EQ(closed_[0].code, Errc::cancelled);
}

TEST_F(Connections, APeerThatDoesNotReadIsDropped) {
    std::string const large(1 << 20, 'x');
    for (int i = 0; i < 20 && connection_->is_open(); ++i) {
        connection_->send(large);
        context_.poll();
    }
    context_.poll();
    ASSERT_EQ(closed_.size(), 1u);
    EXPECT_THAT(closed_[0].message, HasSubstr("does not read"));
}

/// A file whose sync() waits until the test releases it, so that the test can check the state
/// meanwhile.
class GatedFile final : public AppendFile {
public:
    std::uint64_t size() const override { return content_.size(); }
    Result<std::string> read(std::uint64_t, std::size_t) override { return std::string(); }
    Result<void> append(std::string_view bytes) override {
        if (full) return Error{Errc::out_of_space, "journal: full"};
        content_ += bytes;
        return {};
    }
    Result<void> truncate(std::uint64_t size) override {
        content_.resize(size);
        return {};
    }
    Result<void> sync() override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return allowed_ > 0; });
        --allowed_;
        ++syncs;
        if (fail_sync) return Error{Errc::io, "journal: sync: broken"};
        return {};
    }
    Result<bool> reserve(std::uint64_t) override {
        if (full) return Error{Errc::out_of_space, "journal: full"};
        return true;
    }
    void allow_sync(int times = 1) {
        std::lock_guard const lock(mutex_);
        allowed_ += times;
        changed_.notify_all();
    }

    bool full = false;
    bool fail_sync = false;
    int syncs = 0;

private:
    std::string content_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int allowed_ = 0;
};

class Queue : public testing::Test {
protected:
    void SetUp() override {
        auto file = std::make_unique<GatedFile>();
        file_ = file.get();
        auto opened = JournalFile::open(std::move(file));
        ASSERT_TRUE(opened.has_value());
        journal_ = std::move(opened->journal);
        queue_.emplace(context_.get_executor(), *journal_, env_,
                       JournalQueue::Handlers{
                           .on_failed = [this](Error const& e) { log_.push_back(e.message); },
                           .on_lossy = [this](Error const&) { log_.push_back("lossy"); }});
    }
    void TearDown() override { file_->allow_sync(100); }
    void append(bool sync) {
        protocol::RunNotice notice;
        notice.detail = "x";
        queue_->append({0, 1, notice}, sync);
    }
    void act(std::string what) {
        queue_->then([this, what = std::move(what)] { log_.push_back(what); });
    }
    /// Releases one sync, so that its completion runs.
    void end_sync() {
        file_->allow_sync();
        context_.restart();
        context_.run_one();
    }

    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    FakeEnv env_;
    GatedFile* file_ = nullptr;
    std::unique_ptr<JournalFile> journal_;
    std::vector<std::string> log_;
    std::optional<JournalQueue> queue_;
};

TEST_F(Queue, ActsWaitUntilDecisionsAreDurable) {
    act("before");
    append(true);
    act("after");
    EXPECT_THAT(log_, ElementsAre("before"));
    append(true);  // shares the next sync
    append(true);
    act("last");
    end_sync();
    EXPECT_THAT(log_, ElementsAre("before", "after"));
    end_sync();
    EXPECT_THAT(log_, ElementsAre("before", "after", "last"));
    EXPECT_EQ(file_->syncs, 2);
}

TEST_F(Queue, InformationIsSyncedOnceASecondAndHoldsNothingUp) {
    for (int i = 0; i < 10; ++i) append(false);
    act("at once");
    EXPECT_THAT(log_, ElementsAre("at once"));
    env_.advance(std::chrono::seconds(1));
    append(false);
    act("during the sync");
    EXPECT_THAT(log_, ElementsAre("at once", "during the sync"));
    end_sync();
    EXPECT_EQ(file_->syncs, 1);
}

TEST_F(Queue, AFailedDecisionIsReportedOnceAndHoldsNothingUp) {
    append(true);
    file_->full = true;
    append(true);
    EXPECT_THAT(log_, ElementsAre("journal: full"));
    append(true);
    act("at once now");
    EXPECT_THAT(log_, ElementsAre("journal: full", "at once now"));
    EXPECT_TRUE(queue_->has_failed());
}

TEST_F(Queue, AFailedSyncFailsTheJournal) {
    file_->fail_sync = true;
    append(true);
    act("never");
    end_sync();
    EXPECT_THAT(log_, ElementsAre("journal: sync: broken"));
}

TEST_F(Queue, InformationThatDoesNotFitIsDroppedAndReportedOnce) {
    file_->full = true;
    // JournalFile's reserve is not used up, yet metrics may not touch it.
    for (int i = 0; i < 1000; ++i) append(false);
    EXPECT_FALSE(queue_->has_failed());
    EXPECT_THAT(log_, ElementsAre("lossy"));
}

}  // namespace
}  // namespace osora::daemon
