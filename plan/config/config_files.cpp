// Missing site and user files are normal; a missing run file names its nearest neighbour.
#include "plan/config/config_files.hpp"

#include "base/files/files.hpp"
#include "base/text/nearest.hpp"
#include "plan/config/cross_checks.hpp"
#include "plan/config/fields.hpp"
#include "plan/config/ssh_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace osora::plan {
namespace {

std::string neighbour_of(std::filesystem::path const& file) {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator folder(base_dir_of(file), error);
    for (auto const end = std::filesystem::directory_iterator(); !error && folder != end;
         folder.increment(error)) {
        if (folder->path().extension() == ".toml") names.push_back(folder->path().filename());
    }
    std::ranges::sort(names);
    std::vector<std::string_view> const views(names.begin(), names.end());
    auto const near = nearest_name(file.filename().string(), views);
    return near ? fmt::format("; did you mean {}?", (file.parent_path() / *near).string()) : "";
}

/// The error without the path, which precedes every problem.
std::string reason(Error const& error, std::filesystem::path const& file) {
    std::string text = error.message;
    if (text.starts_with(file.string() + ": ")) text.erase(0, file.string().size() + 2);
    return text;
}

void add_layer(Layer layer, std::filesystem::path const& file, std::string const& shown,
               std::vector<ConfigText>& layers, std::vector<ConfigProblem>& problems) {
    if (file.empty()) return;
    auto text = read_file(file, kRunFileBytesMax);
    if (text.has_value()) {
        layers.push_back({layer, shown, std::move(*text)});
        return;
    }
    bool const missing = text.error().code == Errc::not_found;
    if (missing && layer != Layer::run) return;
    Origin const where{layer, shown, 0};
    problems.push_back(
        {where, 0, missing ? "no such file" + neighbour_of(file) : reason(text.error(), file)});
}

/// Drops a stage's problems about values inherited from before the stage, which were reported
/// already.
void add_new(ConfigProblem problem, std::vector<ConfigProblem>& problems) {
    std::string const text = to_text(problem);
    auto const said = [&](ConfigProblem const& each) { return to_text(each) == text; };
    if (std::ranges::none_of(problems, said)) problems.push_back(std::move(problem));
}

}  // namespace

ResolvedConfig load_config(ConfigRequest const& request) {
    std::vector<ConfigText> layers;
    std::vector<ConfigProblem> unreadable;
    std::string const shown =
        request.run_file_shown.empty() ? request.run_file.string() : request.run_file_shown;
    add_layer(Layer::site, request.site_file, request.site_file, layers, unreadable);
    add_layer(Layer::user, request.user_file, request.user_file, layers, unreadable);
    add_layer(Layer::run, request.run_file, shown, layers, unreadable);
    if (!request.run_text.empty()) layers.push_back({Layer::run, shown, request.run_text});
    if (!unreadable.empty() && unreadable.back().where.layer == Layer::run) {
        ResolvedConfig none;  // rules between keys would only repeat that the file is missing
        none.run_file = shown;
        none.whole = false;
        none.problems = std::move(unreadable);
        return none;
    }
    auto resolved = resolve_config(layers, request.sets);
    bool const has_file = !request.run_file.empty();
    if (auto const run = std::ranges::find(layers, Layer::run, &ConfigText::layer);
        has_file && run != layers.end()) {
        resolved.run_file_text = run->text;
    }
    resolved.problems.insert(resolved.problems.begin(), unreadable.begin(), unreadable.end());
    auto const base = request.base_dir.empty() ? base_dir_of(request.run_file) : request.base_dir;
    if (!request.run_file.empty()) {
        check_files(resolved, base);
        for (std::size_t i = 0; i < resolved.stages.size(); ++i) {
            ResolvedConfig view = stage_view(resolved, i);
            check_files(view, base);
            for (ConfigProblem& each : view.problems) {
                add_new(std::move(each), resolved.problems);
            }
        }
        settle_ssh_hosts(resolved, base);
    }
    std::ranges::stable_sort(resolved.problems, {}, [](ConfigProblem const& each) {
        return std::tuple(each.where.layer, each.where.line);
    });
    return resolved;
}

std::filesystem::path base_dir_of(std::filesystem::path const& run_file) {
    std::error_code error;
    auto const absolute = std::filesystem::absolute(run_file, error);
    return error ? run_file.parent_path() : absolute.lexically_normal().parent_path();
}

void make_paths_absolute(RunConfig& config, std::filesystem::path const& base_dir) {
    for (Field const& field : fields_of(config)) {
        auto* const* value = std::get_if<std::string*>(&field.value);
        if (field.row->shape != Shape::path || value == nullptr || (*value)->empty()) continue;
        bool const word = **value == "auto" || **value == "none";
        if (!word || field.row->section != "checkpoint") {
            **value = (base_dir / **value).lexically_normal().string();
        }
    }
}

}  // namespace osora::plan
