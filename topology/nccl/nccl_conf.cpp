// The order of NCCL's files is that of initEnvFunc in src/misc/param.cc (2.23 and later).
#include "topology/nccl/nccl_conf.hpp"

#include "topology/text_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPlacesNamed = 3;

/// Files that may have set a variable of a process, in the order in which a login reads them.
std::vector<fs::path> environment_files(fs::path const& root, fs::path const& home) {
    constexpr std::size_t kFilesMax = 400;
    std::vector<fs::path> files;
    auto const add_folder = [&](fs::path const& folder, auto const& wanted) {
        std::error_code error;
        std::vector<fs::path> inside;
        for (fs::directory_iterator at(root / folder, error), end; !error && at != end;
             at.increment(error)) {
            bool const fits = wanted(at->path().filename().string());
            if (fits && inside.size() < kFilesMax) inside.push_back(folder / at->path().filename());
        }
        std::ranges::sort(inside);
        files.insert(files.end(), inside.begin(), inside.end());
    };
    auto const any = [](std::string const& name) { return !name.ends_with('~'); };
    auto const prolog = [](std::string const& name) {
        return name.find("prolog") != std::string::npos;
    };
    for (char const* each : {"etc/environment", "etc/security/pam_env.conf"}) files.push_back(each);
    add_folder("etc/environment.d", any);
    for (char const* each : {"etc/profile", "etc/bash.bashrc", "etc/bashrc"}) files.push_back(each);
    add_folder("etc/profile.d", any);
    add_folder("etc/slurm", prolog);
    add_folder("etc/slurm/prolog.d", any);
    add_folder("etc/slurm/task_prolog.d", any);
    add_folder("etc/enroot/environ.d", any);
    add_folder(".singularity.d/env", any);
    if (home.empty()) return files;
    auto const own = home.relative_path();
    for (char const* each :
         {".profile", ".bash_profile", ".bashrc", ".zshenv", ".zshrc", ".pam_environment"}) {
        files.push_back(own / each);
    }
    add_folder(own / ".config/environment.d", any);
    add_folder(own / ".config/enroot/environ.d", any);
    return files;
}

struct Place {
    Assignment assignment;
    std::string file;  // "/etc/profile.d/nccl.sh"
};

/// "environment, set by FILE:LINE": the places that set the name to that value.
std::string environment_origin(std::string const& name, std::string const& value,
                               std::vector<Place> const& places) {
    std::string exact, perhaps;
    std::size_t count = 0;
    for (Place const& each : places) {
        if (each.assignment.name != name) continue;
        auto const where = fmt::format("{}:{}", each.file, each.assignment.line);
        if (!each.assignment.exact) {
            if (perhaps.empty()) perhaps = where;
        } else if (each.assignment.value == value && count++ < kPlacesNamed) {
            exact += (exact.empty() ? "" : " and ") + where;
        }
    }
    if (!exact.empty()) return "environment, set by " + exact;
    return perhaps.empty() ? "environment" : "environment, perhaps set by " + perhaps;
}

/// The files that NCCL opens, in its order, and problems of the choice.
std::vector<std::string> nccl_files(std::map<std::string, std::string> const& environment,
                                    fs::path const& root, fs::path const& home,
                                    std::string& conf_file_note) {
    std::vector<std::string> files;
    auto const chosen = environment.find("NCCL_CONF_FILE");
    if (chosen != environment.end() && !chosen->second.empty()) {
        fs::path const path = chosen->second;
        std::error_code error;
        if (chosen->second.starts_with('~')) {
            conf_file_note = "NCCL does not expand ~: no such file, and ~/.nccl.conf is not read";
        } else if (path.is_relative()) {
            conf_file_note = "depends on the folder that a rank starts in";
        } else if (!fs::exists(root / path.relative_path(), error)) {
            conf_file_note = "no such file, and ~/.nccl.conf is not read in its place";
        } else {
            files.push_back(chosen->second);
        }
    } else if (!home.empty()) {
        files.push_back((home / ".nccl.conf").string());
    }
    files.push_back("/etc/nccl.conf");
    return files;
}

void add_conf_file(fs::path const& root, std::string const& file,
                   std::vector<InheritedSetting>& settings, std::set<std::string>& set) {
    for (Assignment& each : parse_nccl_conf(text_of(root / fs::path(file).relative_path()))) {
        bool const nccl = each.name.starts_with("NCCL_");
        bool const first = each.taken && nccl && set.insert(each.name).second;
        if (each.taken && !nccl) each.note = "read before NCCL opens its files";
        settings.push_back({.name = std::move(each.name),
                            .value = std::move(each.value),
                            .origin = fmt::format("{}:{}", file, each.line),
                            .effective = first,
                            .note = std::move(each.note)});
    }
}

}  // namespace

std::vector<InheritedSetting> read_inherited_settings(
    std::map<std::string, std::string> const& environment, fs::path const& root,
    fs::path const& home) {
    std::map<std::string, std::string> wanted;
    for (auto const& [name, value] : environment) {
        if (is_communication_variable(name)) wanted.emplace(name, value);
    }
    std::vector<Place> places;
    if (!wanted.empty()) {
        for (fs::path const& file : environment_files(root, home)) {
            for (Assignment& each : parse_environment_file(text_of(root / file))) {
                places.push_back({std::move(each), "/" + file.string()});
            }
        }
    }
    std::vector<InheritedSetting> settings;
    std::set<std::string> set;
    std::string conf_file_note;
    auto const files = nccl_files(environment, root, home, conf_file_note);
    for (auto const& [name, value] : wanted) {
        set.insert(name);
        settings.push_back({.name = name,
                            .value = value,
                            .origin = environment_origin(name, value, places),
                            .effective = true,
                            .note = name == "NCCL_CONF_FILE" ? conf_file_note : ""});
    }
    for (std::string const& file : files) add_conf_file(root, file, settings, set);
    std::ranges::stable_sort(settings, {}, [](InheritedSetting const& each) {
        return std::tuple(each.name, !each.effective);
    });
    return settings;
}

Environment recorded_environment(fs::path const& root) {
    std::string const text = text_of(root / "proc/self/environ");
    Environment environment;
    std::string_view left = text;
    while (!left.empty()) {
        std::size_t const end = std::min(left.find('\0'), left.size());
        if (end > 0) environment.emplace_back(left.substr(0, end));
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    return environment;
}

}  // namespace osora::topology
