// Blocks carry no header: malloc knows their size when they are freed. Figures are relaxed atomics,
// so peaks of several threads at once may be off by what one of them just asked for.
#include "worker/memory/counted_allocator.hpp"

#include "base/text/units.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace osora::worker {
namespace {

constexpr std::size_t kListedMost = 12;
constexpr std::size_t kListedBytes = std::size_t{64} << 10;  // smaller ones do not explain a peak

/// The deleter of a block is a plain function, so what it counts on is the process's.
struct Counts {
    std::atomic<std::int64_t> allocated{0}, peak{0}, cap{0};
    std::mutex mutex;                                // of what follows
    std::unordered_map<void*, std::int64_t> blocks;  // large ones; only with a cap
    std::optional<MemoryRefusal> refusal;
};

Counts& counts() {
    static Counts& all = *std::make_unique<Counts>().release();  // blocks outlive statics
    return all;
}

thread_local int cap_scopes = 0;

c10::Allocator& plain() {
    return *c10::GetDefaultCPUAllocator();
}

bool is_listed(std::size_t bytes) {
    return bytes >= kListedBytes && counts().cap.load(std::memory_order_relaxed) > 0;
}

void release(void* block) {
    Counts& all = counts();
    std::size_t const bytes = ::malloc_usable_size(block);
    if (is_listed(bytes)) {
        std::lock_guard const lock(all.mutex);
        all.blocks.erase(block);
    }
    all.allocated.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
    plain().raw_deallocate(block);
}

[[noreturn]] void refuse(std::int64_t asked, std::int64_t allocated, std::int64_t cap) {
    Counts& all = counts();
    {
        std::lock_guard const lock(all.mutex);
        MemoryRefusal refusal{asked, allocated, cap, {}};
        for (auto const& [block, bytes] : all.blocks) refusal.largest_bytes.push_back(bytes);
        std::ranges::sort(refusal.largest_bytes, std::greater());
        if (refusal.largest_bytes.size() > kListedMost) refusal.largest_bytes.resize(kListedMost);
        all.refusal = std::move(refusal);
    }
    C10_THROW_ERROR(OutOfMemoryError,
                    fmt::format("{} asked for, {} of {} in use", format_bytes(asked),
                                format_bytes(allocated), format_bytes(cap)));
}

void raise_peak(std::int64_t to) {
    auto& peak = counts().peak;
    std::int64_t before = peak.load(std::memory_order_relaxed);
    while (before < to && !peak.compare_exchange_weak(before, to, std::memory_order_relaxed)) {}
}

CountedAllocator* the_installed = nullptr;

}  // namespace

CountedAllocator& CountedAllocator::install() {
    static CountedAllocator allocator;
    if (the_installed == nullptr) c10::SetCPUAllocator(&allocator, /*priority=*/1);
    the_installed = &allocator;
    return allocator;
}

CountedAllocator* CountedAllocator::installed() {
    return the_installed;
}

c10::DataPtr CountedAllocator::allocate(std::size_t bytes) {
    Counts& all = counts();
    std::int64_t const cap = cap_scopes > 0 ? all.cap.load(std::memory_order_relaxed) : 0;
    std::int64_t const before = all.allocated.load(std::memory_order_relaxed);
    auto const asked = static_cast<std::int64_t>(bytes);
    if (cap > 0 && before + asked > cap) refuse(asked, before, cap);
    void* const block = plain().raw_allocate(bytes);
    std::size_t const given = ::malloc_usable_size(block);
    auto const more = static_cast<std::int64_t>(given);
    raise_peak(all.allocated.fetch_add(more, std::memory_order_relaxed) + more);
    if (is_listed(given)) {
        std::lock_guard const lock(all.mutex);
        all.blocks[block] = more;
    }
    return {block, block, &release, c10::Device(c10::kCPU)};
}

c10::DeleterFnPtr CountedAllocator::raw_deleter() const {
    return &release;
}

void CountedAllocator::copy_data(void* to, void const* from, std::size_t bytes) const {
    default_copy_data(to, from, bytes);
}

std::int64_t CountedAllocator::allocated_bytes() const {
    return counts().allocated.load(std::memory_order_relaxed);
}

std::int64_t CountedAllocator::peak_bytes() const {
    return counts().peak.load(std::memory_order_relaxed);
}

void CountedAllocator::reset_peak() {
    counts().peak.store(allocated_bytes(), std::memory_order_relaxed);
}

void CountedAllocator::set_cap(std::int64_t bytes) {
    Counts& all = counts();
    std::lock_guard const lock(all.mutex);
    all.cap.store(bytes, std::memory_order_relaxed);
    all.blocks.clear();
}

std::int64_t CountedAllocator::cap_bytes() const {
    return counts().cap.load(std::memory_order_relaxed);
}

std::optional<MemoryRefusal> CountedAllocator::take_refusal() {
    Counts& all = counts();
    std::lock_guard const lock(all.mutex);
    return std::exchange(all.refusal, std::nullopt);
}

CapScope::CapScope() {
    ++cap_scopes;
}

CapScope::~CapScope() {
    --cap_scopes;
}

}  // namespace osora::worker
