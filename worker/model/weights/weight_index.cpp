#include "worker/model/weights/weight_index.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <filesystem>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

Error corrupt_index(std::string const& message) {
    return Error{Errc::corrupt, "weight index: " + message};
}

}  // namespace

Result<std::map<std::string, std::string>> parse_weight_index(std::string_view text) {
    boost::system::error_code failed;
    auto const value = boost::json::parse(text, failed);
    if (failed) return corrupt_index(failed.message());
    auto const* object = value.if_object();
    auto const* map = object == nullptr ? nullptr : object->if_contains("weight_map");
    if (map == nullptr || !map->is_object()) return corrupt_index("no object \"weight_map\"");
    std::map<std::string, std::string> files;
    for (auto const& [name, file] : map->get_object()) {
        if (!file.is_string())
            return corrupt_index(
                fmt::format("the file of '{}' is not text", std::string_view(name)));
        fs::path const path(std::string_view(file.get_string()));
        if (path.empty() || path != path.filename() || path == "." || path == "..")
            return corrupt_index(fmt::format("'{}' of '{}' is not a file name", path.string(),
                                             std::string_view(name)));
        files.emplace(name, path.string());
    }
    if (files.empty()) return corrupt_index("it lists no tensor");
    return files;
}

}  // namespace osora::worker
