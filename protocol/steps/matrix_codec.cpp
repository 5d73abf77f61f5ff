// A byte for the version, then bits, the highest of a byte first. For each row: the median's level
// as a difference from the row before (Elias gamma), the Rice parameter k (4 bits), and for each
// rank the difference from the median, zigzag: quotient by 2^k in ones and a zero, then k bits.
// kEscape ones are followed by the whole number in 32 bits.
#include "protocol/steps/matrix_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace osora::protocol {
namespace {

constexpr char kVersion = 1;
constexpr double kLeast = 1e-9, kMost = 1e12;
constexpr double kStep = 0.002;  // of the natural logarithm
constexpr std::int32_t kNan = -1, kZero = 0;
constexpr unsigned kEscape = 24, kParameterBits = 4;

std::int32_t level_of(float value) {
    if (std::isnan(value)) return kNan;
    if (value < kLeast) return kZero;
    double const within = std::min<double>(value, kMost);
    return 1 + static_cast<std::int32_t>(std::lround(std::log(within / kLeast) / kStep));
}

/// values[level - kNan] for each level up to `highest`: a report decodes millions of them.
std::vector<float> values_of_levels(std::int32_t highest) {
    std::vector<float> values{std::numeric_limits<float>::quiet_NaN(), 0};
    for (std::int32_t level = 1; level <= highest; ++level) {
        values.push_back(static_cast<float>(kLeast * std::exp(kStep * (level - 1))));
    }
    return values;
}

std::uint32_t zigzag(std::int32_t number) {
    return (static_cast<std::uint32_t>(number) << 1) ^ static_cast<std::uint32_t>(number >> 31);
}

std::int64_t unzigzag(std::uint32_t number) {
    auto const half = static_cast<std::int64_t>(number >> 1);
    return (number & 1) != 0 ? -half - 1 : half;
}

class BitWriter {
public:
    explicit BitWriter(std::string& bytes) : bytes_(bytes) {}
    void put(std::uint32_t value, unsigned count) {
        while (count-- > 0) {
            if (used_ == 0) bytes_ += '\0';
            auto const bit = static_cast<unsigned>(value >> count) & 1u;
            auto const last = static_cast<unsigned char>(bytes_.back());
            bytes_.back() = static_cast<char>(last | (bit << (7 - used_)));
            used_ = (used_ + 1) % 8;
        }
    }

private:
    std::string& bytes_;
    unsigned used_ = 0;  // bits of the last byte
};

class BitReader {
public:
    explicit BitReader(std::string_view bytes) : bytes_(bytes) {}
    /// nullopt: past the end.
    std::optional<std::uint32_t> get(unsigned count) {
        std::uint32_t value = 0;
        if (count > bytes_.size() * 8 - at_) return std::nullopt;
        while (count-- > 0) {
            auto const byte = static_cast<unsigned char>(bytes_[at_ / 8]);
            value = (value << 1) | ((byte >> (7 - at_ % 8)) & 1u);
            ++at_;
        }
        return value;
    }
    /// Ones before the next zero, which is consumed as well; after `limit` ones it stops and
    /// consumes no zero.
    std::optional<unsigned> ones(unsigned limit) {
        for (unsigned count = 0; count < limit; ++count) {
            auto const bit = get(1);
            if (!bit) return std::nullopt;
            if (*bit == 0) return count;
        }
        return limit;
    }
    /// Whether only the padding of the last byte is left, and it is zero.
    [[nodiscard]] bool is_at_end() {
        std::size_t const left = bytes_.size() * 8 - at_;
        return left < 8 && get(static_cast<unsigned>(left)) == 0u;
    }

private:
    std::string_view bytes_;
    std::size_t at_ = 0;  // bits
};

void put_gamma(BitWriter& out, std::uint32_t number) {
    unsigned const bits = static_cast<unsigned>(std::bit_width(number + 1));
    out.put(0, bits - 1);
    out.put(number + 1, bits);
}

std::optional<std::uint32_t> get_gamma(BitReader& in) {
    for (unsigned zeros = 0; zeros < 31; ++zeros) {
        auto const bit = in.get(1);
        if (!bit) return std::nullopt;
        if (*bit == 0) continue;
        auto const rest = in.get(zeros);
        if (!rest) return std::nullopt;
        return ((1u << zeros) | *rest) - 1;
    }
    return std::nullopt;
}

std::size_t rice_bits(std::span<std::uint32_t const> numbers, unsigned k) {
    std::size_t bits = 0;
    for (std::uint32_t const each : numbers) {
        std::uint32_t const quotient = each >> k;
        bits += quotient < kEscape ? quotient + 1 + k : kEscape + 32;
    }
    return bits;
}

unsigned best_parameter(std::span<std::uint32_t const> numbers) {
    unsigned best = 0;
    std::size_t least = rice_bits(numbers, 0);
    for (unsigned k = 1; k < (1u << kParameterBits); ++k) {
        std::size_t const bits = rice_bits(numbers, k);
        if (bits < least) {
            least = bits;
            best = k;
        }
    }
    return best;
}

std::optional<std::uint32_t> get_rice(BitReader& in, unsigned k) {
    auto const quotient = in.ones(kEscape);
    if (!quotient) return std::nullopt;
    if (*quotient == kEscape) return in.get(32);
    auto const rest = in.get(k);
    if (!rest) return std::nullopt;
    return (*quotient << k) | *rest;
}

Error damaged(std::size_t step) {
    return Error{Errc::invalid_input, fmt::format("matrix: row {} is damaged", step)};
}

}  // namespace

std::string encode_matrix(std::span<float const> values, std::size_t ranks) {
    std::string bytes(1, kVersion);
    if (ranks == 0) return bytes;
    BitWriter out(bytes);
    std::int32_t before = 0;
    std::vector<std::int32_t> levels(ranks), sorted;
    std::vector<std::uint32_t> differences(ranks);
    for (std::size_t row = 0; row + ranks <= values.size(); row += ranks) {
        std::ranges::transform(values.subspan(row, ranks), levels.begin(), level_of);
        sorted = levels;
        auto const middle = sorted.begin() + static_cast<std::ptrdiff_t>(ranks / 2);
        std::ranges::nth_element(sorted, middle);
        std::int32_t const median = *middle;
        put_gamma(out, zigzag(median - before));
        before = median;
        std::ranges::transform(levels, differences.begin(),
                               [median](std::int32_t level) { return zigzag(level - median); });
        unsigned const k = best_parameter(differences);
        out.put(k, kParameterBits);
        for (std::uint32_t const each : differences) {
            std::uint32_t const quotient = each >> k;
            bool const fits = quotient < kEscape;
            out.put(~0u, fits ? quotient : kEscape);
            if (fits) out.put(0, 1);
            out.put(fits ? each & ((1u << k) - 1) : each, fits ? k : 32);
        }
    }
    return bytes;
}

Result<std::vector<float>> decode_matrix(std::string_view bytes, std::size_t steps,
                                         std::size_t ranks) {
    if (ranks > 0 && steps > kMatrixValuesMax / ranks) {
        return Error{Errc::invalid_input, fmt::format("matrix of {} x {}", steps, ranks)};
    }
    if (bytes.empty() || bytes[0] != kVersion) {
        return Error{Errc::invalid_input, "matrix: of another version"};
    }
    static std::int32_t const highest = level_of(std::numeric_limits<float>::infinity());
    static std::vector<float> const value_of = values_of_levels(highest);
    BitReader in(bytes.substr(1));
    std::vector<float> values;
    values.reserve(std::min(steps * ranks, 8 * bytes.size()));  // each needs at least one bit
    std::int64_t median = 0;
    for (std::size_t step = 0; ranks > 0 && step < steps; ++step) {
        auto const moved = get_gamma(in);
        auto const k = moved ? in.get(kParameterBits) : std::nullopt;
        if (!k) return damaged(step);
        median += unzigzag(*moved);
        if (median < kNan || median > highest) return damaged(step);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            auto const difference = get_rice(in, *k);
            if (!difference) return damaged(step);
            std::int64_t const level = median + unzigzag(*difference);
            if (level < kNan || level > highest) return damaged(step);
            values.push_back(value_of[static_cast<std::size_t>(level - kNan)]);
        }
    }
    if (!in.is_at_end()) return Error{Errc::invalid_input, "matrix: bytes after its end"};
    return values;
}

}  // namespace osora::protocol
