// Workers decode into a few slots; the calling thread hashes them in manifest order.
#include "worker/clips/bench.hpp"

#include "base/files/files.hpp"
#include "base/sha256.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/in_order.hpp"
#include "worker/data/manifest.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>
#include <vector>

namespace osora::worker {
namespace {

double cpu_s(int who) {
    rusage usage{};
    getrusage(who, &usage);
    auto const seconds = [](timeval const& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// For this process only: getrusage() would also count the program before exec.
double peak_rss_mib() {
    auto const status = read_file("/proc/self/status");
    if (status.has_error()) return 0;
    auto const at = status->find("VmHWM:");
    if (at == std::string::npos) return 0;
    return static_cast<double>(std::strtoll(status->c_str() + at + 6, nullptr, 10)) / 1024;
}

Result<void> check_bench(protocol::ClipBenchRequest const& request) {
    constexpr int kCountMax = 10'000, kSideMax = 8192, kWorkersMax = 1024;
    auto const within = [](std::int64_t value, std::int64_t low, std::int64_t high) {
        return low <= value && value <= high;
    };
    bool const good = within(request.num_frames, 1, kCountMax) &&
                      within(request.stride, 1, kCountMax) && within(request.start, 0, 1 << 30) &&
                      within(request.width, 1, kSideMax) && within(request.height, 1, kSideMax) &&
                      within(request.workers, 0, kWorkersMax);
    if (good) return {};
    return Error{Errc::invalid_input, "bench: a number is out of its range"};
}

std::size_t clip_bytes(protocol::ClipBenchRequest const& request) {
    return static_cast<std::size_t>(request.num_frames) * static_cast<std::size_t>(request.height) *
           static_cast<std::size_t>(request.width) * 3;
}

/// What would be killed for its memory later is refused.
Result<void> check_memory(protocol::ClipBenchRequest const& request) {
    auto const slots = static_cast<double>(in_order_slots(request.workers));
    double const needed = slots * static_cast<double>(clip_bytes(request));
    double const there =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    if (needed <= 0.8 * there) return {};
    constexpr double kGib = 1 << 30;
    return Error{
        Errc::invalid_input,
        fmt::format("{} clips at a time of {} frames of {}x{} take {:.1f} GiB of the "
                    "machine's {:.1f} GiB; nearest valid: --frames {} with these workers",
                    slots, request.num_frames, request.width, request.height, needed / kGib,
                    there / kGib, static_cast<int>(0.8 * there / needed * request.num_frames))};
}

/// One clip's pixels and how it went.
struct Slot {
    std::vector<std::uint8_t> pixels;
    std::optional<Error> failed;
};

class Bench {
public:
    Bench(protocol::ClipBenchRequest const& request, std::vector<Clip const*> clips)
        : request_(request), clips_(std::move(clips)), slots_(in_order_slots(request.workers)) {
        for (int i = 0; i < std::max(1, request.workers); ++i) decoders_.emplace_back();
        for (Slot& slot : slots_) slot.pixels.resize(clip_bytes(request));
    }

    Result<protocol::ClipBench> run() {
        auto const begin = std::chrono::steady_clock::now();
        std::optional<Error> failed;
        run_in_order(clips_.size(), request_.workers,
                     {.make = [this](InOrderPiece const& piece) { decode(piece); },
                      .take =
                          [&](InOrderPiece const& piece) {
                              failed = slots_[piece.slot].failed;
                              if (!failed) hash(slots_[piece.slot].pixels);
                              return !failed;
                          }});
        if (failed) return *failed;
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
        auto const clips = static_cast<double>(clips_.size());
        return protocol::ClipBench{
            .clips = static_cast<std::int64_t>(clips_.size()),
            .cpu_s_per_clip = (cpu_s(RUSAGE_SELF) - hashing_s_) / clips,
            .peak_rss_mib = peak_rss_mib(),
            .clips_per_s = clips / took.count(),
            .sha256 = hash_.finish(),
        };
    }

private:
    void decode(InOrderPiece const& piece) {
        Clip const& clip = *clips_[piece.index];
        Slot& slot = slots_[piece.slot];
        FrameSize const size{.height = request_.height, .width = request_.width};
        FrameWindow const window{
            .start = request_.start, .stride = request_.stride, .num_frames = request_.num_frames};
        auto const decoded = decoders_[piece.worker].decode(clip.path, window, size, slot.pixels);
        slot.failed.reset();
        if (decoded.has_error()) {
            slot.failed =
                Error(decoded.error()).in(fmt::format("line {}: {}", clip.line, clip.path));
        }
    }

    void hash(std::vector<std::uint8_t> const& pixels) {
        double const before = cpu_s(RUSAGE_THREAD);
        hash_.add(pixels);
        hashing_s_ += cpu_s(RUSAGE_THREAD) - before;
    }

    protocol::ClipBenchRequest const& request_;
    std::vector<Clip const*> clips_;
    std::vector<Slot> slots_;
    std::deque<ClipDecoder> decoders_;  // one a worker
    Sha256 hash_;
    double hashing_s_ = 0;
};

Error nothing_fits(protocol::ClipBenchRequest const& request, Manifest const& manifest,
                   std::int64_t needed) {
    auto const longest = std::ranges::max_element(manifest.clips, {}, &Clip::num_frames);
    std::int64_t const frames = (longest->num_frames - 1 - request.start) / request.stride + 1;
    std::string nearest;
    if (longest->num_frames > request.start) {
        nearest = fmt::format("; nearest valid: --frames {}", frames);
    }
    return {
        Errc::invalid_input,
        fmt::format("{}: none of its {} clips has {} frames, the longest has {}{}",
                    request.manifest, manifest.clips.size(), needed, longest->num_frames, nearest)};
}

}  // namespace

Result<protocol::ClipBench> bench_clips(protocol::ClipBenchRequest const& request) {
    OSORA_TRY_VOID(check_bench(request));
    OSORA_TRY_VOID(check_memory(request));
    OSORA_TRY(Manifest const manifest,
              read_manifest(request.manifest, {.columns = request.columns}));
    for (SkippedRow const& row : manifest.skipped) {
        fmt::print(stderr, "line {}: {}: {}; left out\n", row.line, row.path, row.reason);
    }
    std::int64_t const needed =
        request.start + static_cast<std::int64_t>(request.num_frames - 1) * request.stride + 1;
    std::vector<Clip const*> clips;
    for (Clip const& clip : manifest.clips) {
        if (clip.num_frames >= needed) clips.push_back(&clip);
    }
    auto const too_short = manifest.clips.size() - clips.size();
    if (clips.empty()) return nothing_fits(request, manifest, needed);
    OSORA_TRY(protocol::ClipBench bench, Bench(request, std::move(clips)).run());
    bench.too_short = static_cast<std::int64_t>(too_short);
    bench.skipped = static_cast<std::int64_t>(manifest.skipped.size());
    return bench;
}

}  // namespace osora::worker
