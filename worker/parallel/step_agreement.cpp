#include "worker/parallel/step_agreement.hpp"

#include "protocol/flight/flight_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace osora::worker {
namespace {

/// FNV-1a, the part of it that a double holds.
double number_of(std::string_view text) {
    std::uint64_t hash = 14695981039346656037u;
    for (char const each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211u;
    return static_cast<double>(hash >> 12);
}

std::string ranks_text(std::vector<int> const& ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + protocol::rank_list(ranks);
}

}  // namespace

std::array<double, kTermNumbers> numbers_of(StepTerms const& terms) {
    double const bucket = terms.bucket.empty() ? 0 : number_of(terms.bucket);
    return {static_cast<double>(terms.step),   -static_cast<double>(terms.step),  bucket, -bucket,
            static_cast<double>(terms.passes), -static_cast<double>(terms.passes)};
}

bool agree(std::span<double const, kTermNumbers> maxima) {
    for (std::size_t i = 0; i < kTermNumbers; i += 2)
        if (maxima[i] != -maxima[i + 1]) return false;
    return true;
}

void append_numbers(SharedClips const& clips, std::vector<double>& numbers) {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    auto const hash = static_cast<double>(clips.hash >> 12);  // what a double holds
    for (int share = 0; share < clips.shares; ++share) {
        bool const own = share == clips.share;
        numbers.push_back(own ? hash : kNone);
        numbers.push_back(own ? -hash : kNone);
    }
}

std::string describe_other_clips(std::span<double const> maxima, int step) {
    std::vector<int> shares;
    for (std::size_t i = 0; i + 1 < maxima.size(); i += 2)
        if (maxima[i] != -maxima[i + 1]) shares.push_back(static_cast<int>(i / 2));
    if (shares.empty()) return "";
    return fmt::format(
        "step {}: ranks that share the samples of data-parallel {} read different clips: a file "
        "system gave some to a part of them only (notices clip_skipped); training on different "
        "clips would go wrong unseen",
        step, ranks_text(shares));
}

std::array<std::uint8_t, kTermBytes> packed(StepTerms const& terms) {
    std::array<std::uint8_t, kTermBytes> bytes{};
    std::memcpy(bytes.data(), &terms.step, 4);
    std::memcpy(bytes.data() + 4, &terms.passes, 4);
    std::size_t const length = std::min(terms.bucket.size(), kTermBytes - 9);
    bytes[8] = static_cast<std::uint8_t>(length);
    std::memcpy(bytes.data() + 9, terms.bucket.data(), length);
    return bytes;
}

StepTerms unpacked(std::span<std::uint8_t const, kTermBytes> bytes) {
    StepTerms terms;
    std::memcpy(&terms.step, bytes.data(), 4);
    std::memcpy(&terms.passes, bytes.data() + 4, 4);
    std::size_t const length = std::min<std::size_t>(bytes[8], kTermBytes - 9);
    terms.bucket.assign(reinterpret_cast<char const*>(bytes.data()) + 9, length);
    return terms;
}

std::string describe_terms(std::vector<StepTerms> const& of_ranks) {
    std::vector<std::pair<StepTerms, std::vector<int>>> sides;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
        auto side = std::ranges::find(sides, of_ranks[rank], &decltype(sides)::value_type::first);
        if (side == sides.end()) side = sides.insert(side, {of_ranks[rank], {}});
        side->second.push_back(static_cast<int>(rank));
    }
    std::string text = "ranks do not agree on the step: ";
    for (std::size_t i = 0; i < sides.size(); ++i) {
        auto const& [terms, ranks] = sides[i];
        text += fmt::format("{}{} {} step {}", i == 0 ? "" : "; ", ranks_text(ranks),
                            ranks.size() == 1 ? "does" : "do", terms.step);
        if (!terms.bucket.empty()) text += " with bucket " + terms.bucket;
        text += fmt::format(" in {} pass{}", terms.passes, terms.passes == 1 ? "" : "es");
    }
    return text;
}

}  // namespace osora::worker
