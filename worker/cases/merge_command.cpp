#include "worker/cases/merge_command.hpp"

#include "worker/model/weights/merge_adapter.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/model/weights/weight_files.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <utility>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// The value that all layers have; null if they differ.
json::value scale_of(LoadedAdapter const& adapter) {
    if (adapter.scales.empty()) return adapter.scale;
    double const first = adapter.scales.begin()->second;
    bool const same = adapter.scales.size() == adapter.tensors.size() / 2 &&
                      std::ranges::all_of(adapter.scales, [first](auto const& each) {
                          return each.second == first;
                      });
    return same ? json::value(first) : json::value(nullptr);
}

Result<std::string> merge(MergeCommand const& command) {
    OSORA_TRY(auto const adapter, load_adapter(command.adapter));
    OSORA_TRY(auto loaded, load_weight_files(command.weights));
    auto merged = merge_adapter(std::move(loaded.tensors), adapter);
    if (merged.has_error()) {
        return Error(merged.error())
            .in(command.adapter.string() + " into " + command.weights.string());
    }
    auto const finite = check_finite(*merged);
    if (finite.has_error()) return Error(finite.error()).in("merged");
    OSORA_TRY_VOID(save_safetensors(command.out, *merged, {{"format", "pt"}}));
    return json::serialize(json::object{{"schema", "osora.model_merge/1"},
                                        {"out", command.out.string()},
                                        {"tensors", merged->size()},
                                        {"changed", adapter.tensors.size() / 2},
                                        {"scale", scale_of(adapter)},
                                        {"notices", json::value_from(adapter.notices)}});
}

}  // namespace

Result<MergeCommand> parse_merge_command(std::span<std::string const> words) {
    std::string weights, adapter, out;
    std::pair<std::string_view, std::string*> const options[] = {
        {"--weights", &weights}, {"--adapter", &adapter}, {"--out", &out}};
    for (std::size_t i = 0; i < words.size(); i += 2) {
        auto const* option = std::ranges::find(
            options, words[i], [](auto const& row) { return std::string(row.first); });
        if (option == std::end(options)) {
            return Error{Errc::invalid_input, "unknown option " + words[i]};
        }
        if (i + 1 == words.size() || words[i + 1].empty()) {
            return Error{Errc::invalid_input, words[i] + ": needs a value"};
        }
        *option->second = words[i + 1];
    }
    for (auto const& [name, value] : options) {
        if (value->empty()) return Error{Errc::invalid_input, fmt::format("{} is missing", name)};
    }
    return MergeCommand{weights, adapter, out};
}

Result<std::string> run_merge_command(MergeCommand const& command) {
    std::error_code failed;
    if (fs::exists(command.out, failed)) {
        return Error{Errc::invalid_input,
                     fmt::format("--out {}: is there already", command.out.string())};
    }
    auto result = merge(command);
    if (result.has_value()) return result;
    Error error = std::move(result).error();
    // A file that does not read is as wrong an input as one that does not fit.
    bool const input = error.code == Errc::corrupt || error.code == Errc::not_found;
    if (input) error.code = Errc::invalid_input;
    return error;
}

}  // namespace osora::worker
