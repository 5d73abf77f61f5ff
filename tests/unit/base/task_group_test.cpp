// A group of coroutines on a real io_context; time passes only in timers that are cancelled.
#include "base/task_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace osora {
namespace {

namespace asio = boost::asio;
using testing::ElementsAre;
using testing::IsEmpty;

asio::awaitable<void> wait_for_ever(int* ended) {
    struct Guard {
        int* count;
        ~Guard() { ++*count; }
    } const guard{ended};
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_at(asio::steady_timer::time_point::max());
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> fail(std::string why) {
    co_await asio::post(asio::use_awaitable);
    throw std::runtime_error(why);
}

asio::awaitable<void> wait_for(TaskGroup* group, bool* done) {
    co_await group->wait();
    *done = true;
}

class Tasks : public testing::Test {
protected:
    TaskGroup make() {
        return TaskGroup(context.get_executor(),
                         [this](std::string_view task, std::string_view why) {
                             failures.push_back(std::string(task) + ": " + std::string(why));
                         });
    }
    void watch(TaskGroup& group) {
        asio::co_spawn(context, wait_for(&group, &waited), [](std::exception_ptr) {});
    }

    asio::io_context context{1};
    std::vector<std::string> failures;
    bool waited = false;
    int ended = 0;
};

TEST_F(Tasks, CancelEndsThemAndRefusesMore) {
    TaskGroup group = make();
    EXPECT_TRUE(group.spawn("a", wait_for_ever(&ended)));
    EXPECT_TRUE(group.spawn("b", wait_for_ever(&ended)));
    watch(group);
    context.poll();
    EXPECT_THAT(group.running(), ElementsAre("a", "b"));
    EXPECT_FALSE(waited);
    group.cancel();
    EXPECT_FALSE(group.spawn("c", wait_for_ever(&ended)));
    context.run();
    EXPECT_TRUE(waited);
    EXPECT_EQ(ended, 2);
    EXPECT_THAT(group.running(), IsEmpty());
    EXPECT_THAT(failures, IsEmpty());
}

TEST_F(Tasks, CancelBeforeTheFirstRunEndsATaskToo) {
    TaskGroup group = make();
    group.spawn("a", wait_for_ever(&ended));
    group.cancel();
    watch(group);
    context.run();
    EXPECT_TRUE(waited);
    EXPECT_THAT(failures, IsEmpty());
}

TEST_F(Tasks, AFailureIsReportedWithItsName) {
    TaskGroup group = make();
    group.spawn("reader", fail("the pipe broke"));
    group.spawn("other", wait_for_ever(&ended));
    context.poll();
    EXPECT_THAT(failures, ElementsAre("reader: the pipe broke"));
    EXPECT_THAT(group.running(), ElementsAre("other"));
    group.cancel();
    context.run();
    EXPECT_EQ(ended, 1);
}

TEST_F(Tasks, WaitOnAnEmptyGroupEndsAtOnce) {
    TaskGroup group = make();
    watch(group);
    context.run();
    EXPECT_TRUE(waited);
}

TEST_F(Tasks, AGroupThatGoesCancelsItsTasks) {
    {
        TaskGroup group = make();
        group.spawn("a", wait_for_ever(&ended));
        context.poll();
    }
    context.restart();
    context.run();
    EXPECT_EQ(ended, 1);
    EXPECT_THAT(failures, IsEmpty());
}

}  // namespace
}  // namespace osora
