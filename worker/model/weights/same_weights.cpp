#include "worker/model/weights/same_weights.hpp"

#include "base/files/part_of_file.hpp"

#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>

namespace osora::worker {
namespace {

constexpr std::uintmax_t kLooks = 16, kLookBytes = 64 << 10;

/// Empty if it cannot be read.
std::string piece_of(std::ifstream& file, std::uintmax_t at, std::uintmax_t bytes) {
    std::string piece(static_cast<std::size_t>(bytes), '\0');
    file.seekg(static_cast<std::streamoff>(at));
    file.read(piece.data(), static_cast<std::streamsize>(bytes));
    return file ? piece : std::string();
}

}  // namespace

SameWeights same_weights(std::filesystem::path const& here, std::filesystem::path const& there) {
    namespace fs = std::filesystem;
    if (here == there) return SameWeights::yes;
    auto const [one, part] = part_of_file(here);
    auto const [other, other_part] = part_of_file(there);
    if (part != other_part) return SameWeights::unknown;
    std::error_code error;
    if (fs::equivalent(one, other, error)) return SameWeights::yes;
    if (!fs::is_regular_file(one, error) || !fs::is_regular_file(other, error))
        return SameWeights::unknown;
    std::uintmax_t const bytes = fs::file_size(one, error);
    if (error || fs::file_size(other, error) != bytes) return SameWeights::unknown;
    std::ifstream first(one, std::ios::binary), second(other, std::ios::binary);
    std::uintmax_t const look = bytes < kLooks * kLookBytes ? bytes / kLooks : kLookBytes;
    for (std::uintmax_t i = 1; i <= kLooks && look > 0; ++i) {
        std::uintmax_t const at = bytes / kLooks * i - look;
        auto const own = piece_of(first, at, look), copied = piece_of(second, at, look);
        if (own.empty() || copied.empty()) return SameWeights::unknown;
        if (own != copied) return SameWeights::no;
    }
    return SameWeights::yes;
}

}  // namespace osora::worker
