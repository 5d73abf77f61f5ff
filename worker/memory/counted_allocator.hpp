// LibTorch's allocator of host memory, with a count of the bytes it has given out and a cap. Put in
// place once, before the first tensor of a job; there is one in a process, as LibTorch has one.
// Only passes under a CapScope are refused memory: data and checkpoints beside them are counted.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace osora::worker {

/// What stood when the cap was reached.
struct MemoryRefusal {
    std::int64_t asked_bytes = 0;
    std::int64_t allocated_bytes = 0;
    std::int64_t cap_bytes = 0;
    std::vector<std::int64_t> largest_bytes;  // of the blocks that were alive; largest first
};

class CountedAllocator final : public c10::Allocator {
public:
    /// Puts it in place of the default one; a second call gives the same.
    static CountedAllocator& install();
    /// nullptr: nobody installed it.
    [[nodiscard]] static CountedAllocator* installed();

    /// Throws c10::OutOfMemoryError beyond the cap; else what the default allocator throws.
    c10::DataPtr allocate(std::size_t bytes) override;
    [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override;
    void copy_data(void* to, void const* from, std::size_t bytes) const override;

    /// Of blocks of any thread that are alive, as malloc rounds them up.
    [[nodiscard]] std::int64_t allocated_bytes() const;
    /// Most since the last reset.
    [[nodiscard]] std::int64_t peak_bytes() const;
    void reset_peak();

    /// 0: none. Set before the blocks that a refusal is to tell of.
    void set_cap(std::int64_t bytes);
    [[nodiscard]] std::int64_t cap_bytes() const;
    /// The last one; taken, so that it is told once.
    [[nodiscard]] std::optional<MemoryRefusal> take_refusal();

private:
    CountedAllocator() = default;
};

/// While one lives, the cap holds for this thread.
class CapScope {
public:
    CapScope();
    ~CapScope();
    CapScope(CapScope const&) = delete;
    CapScope& operator=(CapScope const&) = delete;
};

}  // namespace osora::worker
