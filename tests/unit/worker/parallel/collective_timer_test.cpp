// Times of collectives on a backend whose works end when the test says so: queueing after another
// is not counted twice, and the end of a work is known without waiting for it.
#include "worker/parallel/collective_timer.hpp"

#include "ranks.hpp"

#include <ATen/core/ivalue_inl.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace osora::worker {
namespace {

using Clock = CollectiveTimer::Clock;

class ManualWork : public c10d::Work {
public:
    explicit ManualWork(bool with_future) {
        if (with_future) {
            future_ = c10::make_intrusive<c10::ivalue::Future>(c10::AnyType::get());
        }
    }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
    void end() { future_->markCompleted(c10::IValue()); }

private:
    c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class NamedBackend : public c10d::Backend {
public:
    NamedBackend() : c10d::Backend(1, 3) {}
    std::string const getBackendName() const override { return "manual"; }
};

double passed(Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
}

/// Lets at least a millisecond of the clock pass.
void let_time_pass() {
    for (auto const from = Clock::now(); passed(from) < 1e-3;) {}
}

TEST(CollectiveTimer, CountsWhatOverlapsOnceAndLeavesGapsOut) {
    NamedBackend backend;
    CollectiveTimer timer("gradients all_reduce", "all_reduce", backend);
    timer.begin();
    auto const a = c10::make_intrusive<ManualWork>(true), b = c10::make_intrusive<ManualWork>(true),
               c = c10::make_intrusive<ManualWork>(true);
    auto const start_a = Clock::now();
    timer.started(start_a, a, 100);
    let_time_pass();
    auto const start_b = Clock::now();
    timer.started(start_b, b, 200);
    let_time_pass();
    a->end();
    let_time_pass();
    b->end();
    double const first_two = passed(start_a);
    let_time_pass();  // nothing is under way
    let_time_pass();
    auto const start_c = Clock::now();
    timer.started(start_c, c, 300);
    let_time_pass();
    c->end();
    double const third = passed(start_c), whole = passed(start_a);
    let_time_pass();
    auto const cost = timer.cost(0.5);
    EXPECT_EQ(cost.name, "gradients all_reduce");
    EXPECT_EQ(cost.collective, "all_reduce");
    EXPECT_EQ(cost.backend, "manual");
    EXPECT_EQ(cost.ranks, 3);
    EXPECT_EQ(cost.calls, 3);
    EXPECT_EQ(cost.bytes, 600);
    EXPECT_EQ(cost.exposed_s, 0.5);
    EXPECT_GE(cost.seconds, 4e-3);  // a and b together three pauses, c one
    EXPECT_LE(cost.seconds, first_two + third);
    EXPECT_LE(cost.seconds, whole - 2e-3);
    timer.begin();
    EXPECT_EQ(timer.cost(-1e-9).calls, 0);
    EXPECT_EQ(timer.cost(-1e-9).seconds, 0);
    EXPECT_EQ(timer.cost(-1e-9).exposed_s, 0);
}

TEST(CollectiveTimer, AWorkWithoutAReportedEndIsInFlightUntilTheStepIsCounted) {
    NamedBackend backend;
    CollectiveTimer timer("stop vote", "all_reduce", backend);
    timer.begin();
    auto const start = Clock::now();
    timer.started(start, c10::make_intrusive<ManualWork>(false), 4);
    let_time_pass();
    double const at_least = passed(start);
    EXPECT_GE(timer.cost(0).seconds, at_least);
}

TEST(CollectiveTimer, GlooReportsTheEndWithoutAWait) {
    run_ranks(2, [](Group const& group) {
        CollectiveTimer timer("gradients all_reduce", "all_reduce", group.backend());
        timer.begin();
        std::vector<at::Tensor> tensors{at::zeros({1000})};
        auto const start = Clock::now();
        auto const work = group.backend().allreduce(tensors);
        timer.started(start, work, 4000);
        work->wait();
        double const done = passed(start);
        for (int i = 0; i < 50; ++i) let_time_pass();
        auto const cost = timer.cost(done);
        EXPECT_EQ(cost.backend, "gloo");
        EXPECT_GT(cost.seconds, 0);
        EXPECT_LE(cost.seconds, done);
    });
}

}  // namespace
}  // namespace osora::worker
