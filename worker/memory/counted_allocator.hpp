// LibTorch's allocator of host memory with a count of allocated bytes and a cap. Installed once,
// before the first tensor of a job; one per process, as in LibTorch. Only passes under a CapScope
// are refused memory: other data and checkpoints are only counted.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace osora::worker {

/// State when the cap was reached.
struct MemoryRefusal {
    std::int64_t asked_bytes = 0;
    std::int64_t allocated_bytes = 0;
    std::int64_t cap_bytes = 0;
    std::vector<std::int64_t> largest_bytes;  // of the live blocks; largest first
};

class CountedAllocator final : public c10::Allocator {
public:
    /// Replaces the default allocator; a second call returns the same one.
    static CountedAllocator& install();
    /// nullptr: not installed.
    [[nodiscard]] static CountedAllocator* installed();

    /// Throws c10::OutOfMemoryError beyond the cap; else what the default allocator throws.
    c10::DataPtr allocate(std::size_t bytes) override;
    [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override;
    void copy_data(void* to, void const* from, std::size_t bytes) const override;

    /// Size of live blocks of all threads, as malloc rounds them up.
    [[nodiscard]] std::int64_t allocated_bytes() const;
    /// Peak since the last reset.
    [[nodiscard]] std::int64_t peak_bytes() const;
    void reset_peak();

    /// 0: none. Set it before the blocks that a refusal should list.
    void set_cap(std::int64_t bytes);
    [[nodiscard]] std::int64_t cap_bytes() const;
    /// The last refusal; cleared, so that it is reported once.
    [[nodiscard]] std::optional<MemoryRefusal> take_refusal();

private:
    CountedAllocator() = default;
};

/// While one lives, the cap applies to this thread.
class CapScope {
public:
    CapScope();
    ~CapScope();
    CapScope(CapScope const&) = delete;
    CapScope& operator=(CapScope const&) = delete;
};

}  // namespace osora::worker
