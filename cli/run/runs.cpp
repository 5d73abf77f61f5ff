// Numbers count over all runs of a state folder: the next is one above the highest folder, under
// the lock.
#include "cli/run/runs.hpp"

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/files/own_folder.hpp"
#include "base/text/nearest.hpp"
#include "base/text/text.hpp"
#include "plan/config/submitted_run.hpp"
#include "protocol/state_paths.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUuidPrefixMin = 4;
constexpr int kRunNumberMax = 999'999'999;

/// "stage1-0042" -> "stage1".
std::string_view series_of(std::string_view folder_name) {
    return folder_name.substr(0, folder_name.rfind('-'));
}

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Error no_such_run(std::vector<RunFolder> const& runs, std::string_view wanted) {
    if (runs.empty()) {
        return {Errc::not_found,
                fmt::format("run {}: there are no runs yet; osora submit starts one", wanted)};
    }
    std::vector<std::string_view> names;
    for (RunFolder const& each : runs) {
        names.push_back(each.name);
        names.push_back(series_of(each.name));
    }
    auto const near = nearest_name(wanted, names);
    return {Errc::not_found,
            fmt::format("run {}: no such run; {}", wanted,
                        near ? fmt::format("did you mean {}?", *near)
                             : fmt::format("the newest is {} ({})", runs.front().number,
                                           runs.front().name))};
}

/// Runs imported by osora history import, by folder name; they keep the numbers of their origin.
std::vector<RunFolder> list_imported(fs::path const& state) {
    std::vector<RunFolder> runs;
    std::error_code error;
    fs::directory_iterator folder(protocol::StatePaths{state}.runs(), error);
    for (auto const end = fs::directory_iterator(); !error && folder != end;
         folder.increment(error)) {
        std::string const name = folder->path().filename();
        auto const run = protocol::run_of_imported_folder(name);
        if (!run.empty()) runs.push_back({number_of(run), name, {folder->path()}, true});
    }
    std::ranges::sort(runs, std::greater{}, &RunFolder::number);
    return runs;
}

/// The imported run that `wanted` names, as find_run().
std::optional<RunFolder> imported_run(fs::path const& state, std::string_view wanted) {
    auto const is_wanted = [&](RunFolder const& each) {
        auto const run = protocol::run_of_imported_folder(each.name);
        auto const uuid = std::string_view(each.name).substr(run.size() + 1);
        bool const by_uuid = wanted.size() >= kUuidPrefixMin &&
                             (uuid.starts_with(wanted) || wanted.starts_with(uuid));
        bool const by_number = each.number > 0 && whole_number<int>(wanted) == each.number;
        return each.name == wanted || run == wanted || by_number || series_of(run) == wanted ||
               by_uuid;
    };
    auto const runs = list_imported(state);
    auto const found = std::ranges::find_if(runs, is_wanted);
    return found == runs.end() ? std::optional<RunFolder>() : *found;
}

Error refused_import(RunFolder const& run) {
    return {Errc::invalid_input,
            fmt::format("run {0} was imported: its command, paths and job ids are another "
                        "machine's. osora report, diff and history read it; --trust uses what it "
                        "holds, after a look at {1}",
                        run.name, run.paths.submission().string())};
}

Result<RunFolder> by_uuid(std::vector<RunFolder> const& runs, std::string_view wanted) {
    std::vector<RunFolder> found;
    for (RunFolder const& each : runs) {
        auto const submission = plan::read_submission(each.paths);
        if (submission.has_value() && submission->run_uuid.starts_with(wanted)) {
            found.push_back(each);
        }
    }
    if (found.size() > 1) {
        return Error{Errc::invalid_input, fmt::format("run {}: {} and {} start with it", wanted,
                                                      found[0].name, found[1].name)};
    }
    if (found.empty()) return no_such_run(runs, wanted);
    return found.front();
}

Result<RunFolder> find_own_run(fs::path const& state, std::string_view wanted) {
    OSORA_TRY(auto const runs, list_runs(state));
    if (is_number(wanted)) {
        int number = 0;
        std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
        auto const found = std::ranges::find(runs, number, &RunFolder::number);
        if (found != runs.end()) return *found;
    }
    for (RunFolder const& each : runs) {
        if (each.name == wanted) return each;
    }
    for (RunFolder const& each : runs) {  // newest first
        if (series_of(each.name) == wanted) return each;
    }
    bool const hexadecimal =
        wanted.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
    if (wanted.size() >= kUuidPrefixMin && hexadecimal) return by_uuid(runs, wanted);
    return no_such_run(runs, wanted);
}

Result<Descriptor> lock_numbers(fs::path const& runs) {
    fs::path const file = runs / ".lock";
    OSORA_TRY(auto lock, open_private(file, O_RDWR));
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return file_error(errno, "lock", file);
        if (std::chrono::steady_clock::now() > deadline) {
            return Error{Errc::busy, file.string() + ": another submit holds it for over 10 s"};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return lock;
}

}  // namespace

int number_of(std::string_view folder_name) {
    if (!protocol::is_run_folder(folder_name)) return 0;
    return whole_number<int>(folder_name.substr(folder_name.rfind('-') + 1)).value_or(0);
}

Result<std::vector<RunFolder>> list_runs(fs::path const& state) {
    std::vector<RunFolder> runs;
    std::error_code error;
    fs::directory_iterator folder(protocol::StatePaths{state}.runs(), error);
    if (error == std::errc::no_such_file_or_directory) return runs;
    for (auto const end = fs::directory_iterator(); !error && folder != end;
         folder.increment(error)) {
        std::string const name = folder->path().filename();
        int const number = number_of(name);
        if (number > 0) runs.push_back({number, name, {folder->path()}});
    }
    if (error) return file_error(error.value(), "list", protocol::StatePaths{state}.runs());
    std::ranges::sort(runs, std::greater{}, &RunFolder::number);
    return runs;
}

Result<RunFolder> find_run(fs::path const& state, std::string_view wanted, Imported imported) {
    auto own = find_own_run(state, wanted);
    if (own.has_value() || own.error().code != Errc::not_found) return own;
    auto const found = imported_run(state, wanted);
    if (!found) return own;
    if (imported == Imported::refused) return refused_import(*found);
    return *found;
}

Result<RunFolder> next_run_folder(fs::path const& state, std::string_view name) {
    OSORA_TRY(auto const runs, list_runs(state));
    RunFolder run;
    int const last = runs.empty() ? 0 : runs.front().number;
    if (last >= kRunNumberMax) {
        return invalid(fmt::format(
            "{}: run numbers end at {}; move that run elsewhere",
            (protocol::StatePaths{state}.runs() / runs.front().name).string(), kRunNumberMax));
    }
    run.number = last + 1;
    run.name = fmt::format("{}-{:04}", name, run.number);
    run.paths.dir = protocol::StatePaths{state}.runs() / run.name;
    return run;
}

Result<RunFolder> make_run_folder(fs::path const& state, std::string_view name) {
    // The caller has checked the owners of the folders above, and reported what was closed.
    OSORA_TRY_VOID(make_own_folder(state, Parents::believed));
    OSORA_TRY_VOID(make_own_folder(protocol::StatePaths{state}.runs(), Parents::believed));
    OSORA_TRY(auto const lock, lock_numbers(protocol::StatePaths{state}.runs()));
    OSORA_TRY(auto run, next_run_folder(state, name));
    if (::mkdir(run.paths.dir.c_str(), 0700) != 0) {
        return file_error(errno, "create", run.paths.dir);
    }
    OSORA_TRY_VOID(make_own_folder(run.paths.dir, Parents::believed));  // for a umask of 0777
    OSORA_TRY_VOID(sync_directory(protocol::StatePaths{state}.runs()));
    return run;
}

}  // namespace osora::cli
