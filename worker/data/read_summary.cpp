#include "worker/data/read_summary.hpp"

#include "plan/buckets/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace osora::worker {
namespace {

std::uint64_t add_text(std::uint64_t hash, std::string_view text) {
    for (char const c : text) hash = plan::mix64(hash ^ static_cast<unsigned char>(c));
    return plan::mix64(hash ^ text.size());
}

std::string seen(ReadSummary const& read) {
    return fmt::format("{} clips, {} of them gone", read.clips, read.gone);
}

}  // namespace

ReadSummary summary_of(Manifest const& manifest, std::uint64_t settings) {
    std::uint64_t hash = plan::hash64({manifest.fingerprint, settings});
    ReadSummary summary{.hash = 0, .clips = 0, .gone = 0};
    for (Clip const& clip : manifest.clips) {
        hash = add_text(hash, clip.text);
        auto const rate = static_cast<std::uint64_t>(std::llround(clip.fps * 1e6));
        hash = plan::hash64({hash, rate, clip.gone ? 1u : 0u});
        ++summary.clips;
        summary.gone += clip.gone ? 1 : 0;
    }
    summary.hash = static_cast<std::int64_t>(hash);
    return summary;
}

std::string ranks_that_differ(std::span<ReadSummary const> of_ranks) {
    constexpr std::size_t kNamed = 10;
    ReadSummary usual;
    std::ptrdiff_t most = 0;
    for (ReadSummary const& each : of_ranks) {
        auto const times = std::ranges::count(of_ranks, each);
        if (times <= most) continue;
        most = times;
        usual = each;
    }
    std::string text;
    std::size_t others = 0;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
        if (of_ranks[rank] == usual || ++others > kNamed) continue;
        text += fmt::format("{}rank {} read {} (hash {:016x})", text.empty() ? "" : "; ", rank,
                            seen(of_ranks[rank]), static_cast<std::uint64_t>(of_ranks[rank].hash));
    }
    if (others == 0) return {};
    if (others > kNamed) text += fmt::format("; and {} more ranks", others - kNamed);
    return fmt::format(
        "ranks read other clips: {}; the others read {} (hash {:016x}); the list or "
        "its files are not the same on every node",
        text, seen(usual), static_cast<std::uint64_t>(usual.hash));
}

}  // namespace osora::worker
