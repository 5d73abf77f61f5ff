#include "worker/cases/model_command.hpp"

#include "base/text/nearest.hpp"
#include "base/version.hpp"
#include "worker/cases/case_table.hpp"
#include "worker/cases/model_case.hpp"
#include "worker/model/mmdit/mmdit_config.hpp"
#include "worker/model/stdit/stdit2_config.hpp"
#include "worker/model/stdit/stdit3_config.hpp"
#include "worker/model/weights/older_weights.hpp"
#include "worker/model/weights/weight_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::array<std::string_view, 6> kGroups{"weights/", "in/",   "out/",
                                                  "mid/",     "grad/", "grad_in/"};

/// A file that does not read is as wrong an input as one that does not fit.
Error as_input_error(Error error) {
    if (error.code == Errc::corrupt || error.code == Errc::not_found)
        error.code = Errc::invalid_input;
    return error;
}

std::string value_of(std::map<std::string, std::string> const& metadata, std::string const& key) {
    auto const found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
}

Result<void> check_groups(CaseFile const& file) {
    for (auto const& tensor : file.content.tensors) {
        auto const fits = [&](std::string_view group) { return tensor.name.starts_with(group); };
        if (std::ranges::none_of(kGroups, fits))
            return invalid(fmt::format("tensor '{}': its name starts with none of {}", tensor.name,
                                       fmt::join(kGroups, ", ")));
    }
    return {};
}

/// Component and configuration of a named architecture.
Result<void> name_arch(std::string const& arch, CaseFile& file) {
    if (auto const stdit3 = stdit3_config(arch); stdit3.has_value()) {
        file.component = "stdit3";
        file.config = to_json(*stdit3);
        return {};
    }
    if (auto const stdit2 = stdit2_config(arch); stdit2.has_value()) {
        file.component = "stdit2";
        file.config = to_json(*stdit2);
        return {};
    }
    if (auto const mmdit = mmdit_config(arch); mmdit.has_value()) {
        file.component = "mmdit";
        file.config = to_json(*mmdit);
        return {};
    }
    std::vector<std::string> names = stdit3_names();
    std::ranges::copy(stdit2_names(), std::back_inserter(names));
    std::ranges::copy(mmdit_names(), std::back_inserter(names));
    std::vector<std::string_view> const known(names.begin(), names.end());
    auto const nearest = nearest_name(arch, known);
    return invalid(fmt::format("--arch '{}' is unknown{}; known: {}", arch,
                               nearest ? fmt::format("; did you mean {}?", *nearest) : "",
                               fmt::join(known, ", ")));
}

std::string summary(ModelCommand const& command, CaseFile const& file,
                    std::vector<NamedTensor> const& outputs, double seconds) {
    json::array tensors;
    for (auto const& output : outputs)
        tensors.push_back({{"name", output.name},
                           {"dtype", safetensors_type(output.tensor.scalar_type())},
                           {"shape", json::value_from(output.tensor.sizes().vec())}});
    return json::serialize(json::object{{"schema", "osora.model/1"},
                                        {"component", file.component},
                                        {"step", command.train_step ? "train-step" : "forward"},
                                        {"out", command.out.string()},
                                        {"compute_s", seconds},
                                        {"tensors", std::move(tensors)}});
}

Result<CaseFile> open_any(ModelCommand const& command) {
    if (command.arch.empty()) return open_case(command.case_path);
    return open_arch(command);
}

/// Before the work: a case that writes over what it was made from would be lost.
Result<void> check_out(ModelCommand const& command) {
    std::error_code failed;
    if (command.out.has_parent_path() && !fs::is_directory(command.out.parent_path(), failed))
        return invalid(fmt::format("--out {}: {} is not a folder", command.out.string(),
                                   command.out.parent_path().string()));
    for (fs::path const* read : {&command.case_path, &command.weights, &command.inputs})
        if (!read->empty() && fs::equivalent(*read, command.out, failed))
            return invalid(fmt::format("--out {} is what is read", command.out.string()));
    return {};
}

}  // namespace

Result<ModelCommand> parse_model_command(std::span<std::string const> words) {
    if (words.empty() || (words[0] != "forward" && words[0] != "train-step"))
        return invalid("--model: expected forward or train-step");
    ModelCommand command;
    command.train_step = words[0] == "train-step";
    std::string case_path, weights, inputs, out;
    std::pair<std::string_view, std::string*> const options[] = {{"--case", &case_path},
                                                                 {"--arch", &command.arch},
                                                                 {"--weights", &weights},
                                                                 {"--inputs", &inputs},
                                                                 {"--out", &out}};
    for (std::size_t i = 1; i < words.size(); i += 2) {
        auto const* option = std::ranges::find(
            options, words[i], [](auto const& row) { return std::string(row.first); });
        if (option == std::end(options)) return invalid("unknown option " + words[i]);
        if (i + 1 == words.size() || words[i + 1].empty())
            return invalid(words[i] + ": needs a value");
        *option->second = words[i + 1];
    }
    bool const named = !command.arch.empty();
    if (out.empty()) return invalid("--out is missing");
    if (named == !case_path.empty()) return invalid("give either --case or --arch");
    if (named != !weights.empty() || named != !inputs.empty())
        return invalid("--arch, --weights and --inputs belong together");
    command.case_path = case_path;
    command.weights = weights;
    command.inputs = inputs;
    command.out = out;
    return command;
}

Result<CaseFile> open_case(fs::path const& path) {
    CaseFile file;
    OSORA_TRY(file.content, load_safetensors(path));
    file.component = value_of(file.content.metadata, "component");
    file.config = value_of(file.content.metadata, "config");
    if (file.component.empty()) return invalid(path.string() + ": no metadata \"component\"");
    if (auto const named = check_groups(file); named.has_error())
        return Error(named.error()).in(path.string());
    return file;
}

Result<CaseFile> open_arch(ModelCommand const& command) {
    CaseFile file;
    OSORA_TRY_VOID(name_arch(command.arch, file));
    OSORA_TRY(auto loaded, load_network_weights(command.weights));
    auto& weights = loaded.tensors;
    if (auto const stdit3 = stdit3_config(command.arch); stdit3.has_value())
        weights = as_stdit3_weights(std::move(weights), *stdit3).weights;
    if (auto const stdit2 = stdit2_config(command.arch); stdit2.has_value())
        weights = as_stdit2_weights(std::move(weights), *stdit2).weights;
    OSORA_TRY(auto inputs, load_safetensors(command.inputs));
    file.content.metadata = std::move(inputs.metadata);
    for (auto& tensor : weights) {
        tensor.name.insert(0, "weights/");
        file.content.tensors.push_back(std::move(tensor));
    }
    for (auto& tensor : inputs.tensors) {
        if (!tensor.name.starts_with("in/")) tensor.name.insert(0, "in/");
        file.content.tensors.push_back(std::move(tensor));
    }
    return file;
}

Result<std::string> run_model_command(ModelCommand const& command) {
    auto const run = [&]() -> Result<std::string> {
        OSORA_TRY_VOID(check_out(command));
        OSORA_TRY(auto file, open_any(command));
        file.train_step = command.train_step;
        OSORA_TRY(auto const function, find_case(file.component));
        auto const start = std::chrono::steady_clock::now();
        auto const checked = check_weight_values(file);
        auto outputs = checked.has_error() ? CaseResult(checked.error()) : function(file);
        if (outputs.has_error()) {
            fs::path const& read = command.arch.empty() ? command.case_path : command.inputs;
            return std::move(outputs).error().in(read.string());
        }
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
        OSORA_TRY_VOID(save_safetensors(command.out, *outputs,
                                        {{"component", file.component},
                                         {"config", file.config},
                                         {"source", fmt::format("osora {}", kVersion)}}));
        return summary(command, file, *outputs, took.count());
    };
    auto result = run();
    if (result.has_error()) return as_input_error(std::move(result).error());
    return result;
}

}  // namespace osora::worker
