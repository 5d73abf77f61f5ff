// Makes chosen allocations of tensors fail: those of one thread, counted from a mark. It is put in
// front of the counting allocator, for the rest of the process.
#pragma once

#include "worker/memory/counted_allocator.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace osora::worker {

/// Allocations [first, end), numbered from 1; none: they are only counted.
struct FailingRange {
    std::int64_t first = 0, end = 0;
    std::size_t bytes = 0;  // only those of this size; 0: of any
};

/// From its construction to its end, allocations of this thread are counted and may fail.
class FailingAllocations {
public:
    explicit FailingAllocations(FailingRange range) : range_(range) {
        in_front();
        before_ = std::exchange(of_thread(), this);
    }
    ~FailingAllocations() { of_thread() = before_; }
    FailingAllocations(FailingAllocations const&) = delete;
    FailingAllocations& operator=(FailingAllocations const&) = delete;

    [[nodiscard]] std::int64_t count() const { return count_; }

private:
    class Front final : public c10::Allocator {
    public:
        c10::DataPtr allocate(std::size_t bytes) override {
            if (auto* const mark = of_thread()) mark->next(bytes);
            return CountedAllocator::install().allocate(bytes);
        }
        c10::DeleterFnPtr raw_deleter() const override {
            return CountedAllocator::install().raw_deleter();
        }
        void copy_data(void* to, void const* from, std::size_t bytes) const override {
            default_copy_data(to, from, bytes);
        }
    };

    static FailingAllocations*& of_thread() {
        thread_local FailingAllocations* mark = nullptr;
        return mark;
    }
    static void in_front() {
        static Front front;
        static bool const done = [] {
            CountedAllocator::install();
            c10::SetCPUAllocator(&front, /*priority=*/2);
            return true;
        }();
        static_cast<void>(done);
    }
    void next(std::size_t bytes) {
        if (range_.bytes > 0 && bytes != range_.bytes) return;
        ++count_;
        if (count_ >= range_.first && count_ < range_.end)
            C10_THROW_ERROR(OutOfMemoryError, "allocation " + std::to_string(count_) + " fails");
    }

    FailingRange range_;
    FailingAllocations* before_ = nullptr;
    std::int64_t count_ = 0;
};

}  // namespace osora::worker
