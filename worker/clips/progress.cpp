#include "worker/clips/progress.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace osora::worker {

ClipProgress::~ClipProgress() {
    if (printed_) fmt::print(stderr, "\r\x1b[K");
}

void ClipProgress::step(std::int64_t done) {
    constexpr std::chrono::milliseconds kEvery(500);
    auto const now = Clock::now();
    if (!shown_ || now - last_ < kEvery) return;
    last_ = now;
    printed_ = true;
    double const spent = std::chrono::duration<double>(now - begin_).count();
    double const left = spent / static_cast<double>(done) * static_cast<double>(rows_ - done);
    fmt::print(stderr, "\r\x1b[K{} of {} clips, {} left", format_count(done), format_count(rows_),
               format_seconds(left));
}

}  // namespace osora::worker
