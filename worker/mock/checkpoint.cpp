// A folder is written under another name and renamed when it is whole.
#include "worker/mock/checkpoint.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace osora::mock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

/// Folders of whole checkpoints, oldest first.
std::vector<fs::path> list(fs::path const& folder) {
    std::vector<fs::path> found;
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
        bool const whole = entries->path().filename().string().starts_with(kPrefix);
        if (whole) found.push_back(entries->path());
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace

Result<fs::path> save_checkpoint(fs::path const& folder, int step, int keep) {
    fs::path const target = folder / fmt::format("{}{:08}", kPrefix, step);
    fs::path const temporary = folder / fmt::format("tmp-{:08}", step);
    std::error_code error;
    fs::create_directories(temporary, error);
    if (error) return file_error(error.value(), "make folder", temporary);
    auto const state = protocol::json::serialize(protocol::json::object{{"step", step}});
    OSORA_TRY_VOID(write_file_atomic(temporary / "state.json", state));
    fs::remove_all(target, error);
    fs::rename(temporary, target, error);
    if (error) return file_error(error.value(), "rename", target);
    OSORA_TRY_VOID(sync_directory(folder));
    auto const all = list(folder);
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) {
        fs::remove_all(all[i], error);
    }
    return target;
}

int find_checkpoint(fs::path const& folder) {
    auto const all = list(folder);
    for (auto newest = all.rbegin(); newest != all.rend(); ++newest) {
        auto const text = read_file(*newest / "state.json");
        if (text.has_error()) continue;
        auto const value = protocol::parse_json(*text);
        if (value.has_error() || !value->is_object()) continue;
        auto const* const step = value->get_object().if_contains("step");
        if (step != nullptr && step->is_int64()) return static_cast<int>(step->get_int64());
    }
    return 0;
}

}  // namespace osora::mock
