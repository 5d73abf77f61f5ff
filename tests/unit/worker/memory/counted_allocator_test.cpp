// Bytes of tensors on the CPU, counted and capped. The allocator is the process's: each test looks
// at differences, and leaves no cap behind.
#include "worker/memory/counted_allocator.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::int64_t kMib = 1 << 20;

class Counted : public testing::Test {
protected:
    void TearDown() override { memory_.set_cap(0); }
    static at::Tensor mib(std::int64_t count) { return at::empty({count * kMib}, at::kByte); }

    CountedAllocator& memory_ = CountedAllocator::install();
};

TEST_F(Counted, BytesNowAndAtThePeak) {
    EXPECT_EQ(CountedAllocator::installed(), &memory_);
    EXPECT_EQ(c10::GetCPUAllocator(), &memory_);
    std::int64_t const before = memory_.allocated_bytes();
    memory_.reset_peak();
    EXPECT_EQ(memory_.peak_bytes(), before);
    at::Tensor const kept = mib(3);
    {
        at::Tensor const passing = mib(5);
        EXPECT_NEAR(static_cast<double>(memory_.allocated_bytes() - before), 8 * kMib, 16384);
        at::Tensor const view = passing.slice(0, 0, 10);
        EXPECT_NEAR(static_cast<double>(memory_.allocated_bytes() - before), 8 * kMib, 16384);
    }
    EXPECT_NEAR(static_cast<double>(memory_.allocated_bytes() - before), 3 * kMib, 16384);
    EXPECT_NEAR(static_cast<double>(memory_.peak_bytes() - before), 8 * kMib, 16384);
    memory_.reset_peak();
    EXPECT_NEAR(static_cast<double>(memory_.peak_bytes() - before), 3 * kMib, 16384);
}

TEST_F(Counted, NothingIsLostOverThreads) {
    std::int64_t const before = memory_.allocated_bytes();
    std::vector<at::Tensor> made(8);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < made.size(); ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 2000; ++i) made[t] = at::empty({1000 + i % 7}, at::kByte);
            });
    }
    std::jthread([&] { made.clear(); }).join();  // freed by another thread than made them
    EXPECT_EQ(memory_.allocated_bytes(), before);
}

TEST_F(Counted, BeyondTheCapAPassIsRefused) {
    memory_.set_cap(memory_.allocated_bytes() + 10 * kMib);
    at::Tensor const small = mib(2);
    std::vector<at::Tensor> large{mib(4)};
    EXPECT_EQ(mib(20).numel(), 20 * kMib);  // no pass
    CapScope const pass;
    std::int64_t const in_use = memory_.allocated_bytes();
    std::string why;
    try {
        (void)mib(6);
    } catch (c10::OutOfMemoryError const& error) {
        why = error.what_without_backtrace();
    }
    EXPECT_NE(why.find("6.00 MiB asked for"), std::string::npos) << why;
    EXPECT_EQ(memory_.allocated_bytes(), in_use);
    auto const refusal = memory_.take_refusal();
    ASSERT_TRUE(refusal.has_value());
    EXPECT_EQ(refusal->asked_bytes, 6 * kMib);
    EXPECT_EQ(refusal->allocated_bytes, in_use);
    EXPECT_EQ(refusal->cap_bytes, memory_.cap_bytes());
    ASSERT_EQ(refusal->largest_bytes.size(), 2u);  // the passing one is gone
    EXPECT_NEAR(static_cast<double>(refusal->largest_bytes[0]), 4 * kMib, 8192);
    EXPECT_NEAR(static_cast<double>(refusal->largest_bytes[1]), 2 * kMib, 8192);
    EXPECT_FALSE(memory_.take_refusal().has_value());
    large.clear();
    EXPECT_EQ(mib(6).numel(), 6 * kMib);
}

TEST_F(Counted, AnotherThreadIsNotRefused) {
    memory_.set_cap(1);
    CapScope const pass;
    EXPECT_THROW((void)mib(1), c10::OutOfMemoryError);
    std::int64_t made = 0;
    std::jthread([&] { made = mib(1).numel(); }).join();
    EXPECT_EQ(made, kMib);
}

}  // namespace
}  // namespace osora::worker
