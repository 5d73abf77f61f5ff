#include "protocol/secret_key.hpp"

#include "base/files/files.hpp"
#include "base/ids.hpp"
#include "protocol/state_paths.hpp"

namespace osora::protocol {
namespace {

constexpr std::int64_t kKeyBytesMax = 4096;

}  // namespace

std::string known_secret_key(std::filesystem::path const& state) {
    auto const text = read_file(StatePaths{state}.secret_key(), kKeyBytesMax);
    return text.has_value() ? text->substr(0, text->find('\n')) : "";
}

Result<std::string> secret_key(std::filesystem::path const& state) {
    if (auto known = known_secret_key(state); !known.empty()) return known;
    OSORA_TRY(auto file, NewFile::create(StatePaths{state}.secret_key(), kPrivate));
    OSORA_TRY_VOID(file.write(make_token() + "\n"));
    // If another program was faster, its key is used.
    auto const published = file.publish();
    if (published.has_error() && published.error().code != Errc::busy) return published.error();
    OSORA_TRY(auto const text, read_file(StatePaths{state}.secret_key(), kKeyBytesMax));
    return text.substr(0, text.find('\n'));
}

}  // namespace osora::protocol
