#include "cli/history/history_steps.hpp"

#include "base/files/files.hpp"
#include "base/files/new_file.hpp"
#include "cli/history/step_series.hpp"
#include "cli/run/journal_tail.hpp"
#include "protocol/run_directory.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

Result<StepSeries> series_of(db::RunRecord const& run) {
    auto const journal = protocol::RunPaths(run.run_dir).journal();
    std::error_code none;
    if (!fs::exists(journal, none)) {
        return Error{Errc::not_found,
                     fmt::format("run {}: its journal {} is gone", run.name, journal.string())};
    }
    JournalTail tail(journal);
    StepSeries series;
    while (true) {
        OSORA_TRY(auto const records, tail.read());
        if (records.empty()) return series;
        for (auto const& each : records) series.take(each);
    }
}

ExportedSteps exported(db::RunRecord const& run, StepSeries const& series, fs::path const& file) {
    return {.name = run.name,
            .file = file.string(),
            .number = run.number,
            .steps = static_cast<std::int64_t>(series.rows().size())};
}

Error taken(fs::path const& file) {
    return {Errc::invalid_input, fmt::format("{} exists and is not overwritten", file.string())};
}

bool is_taken(fs::path const& file) {
    std::error_code none;
    return fs::symlink_status(file, none).type() != fs::file_type::not_found;
}

Result<void> make_folder(fs::path const& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return file_error(error.value(), "create", folder);
    return {};
}

}  // namespace

Result<std::vector<ExportedSteps>> export_csv(std::vector<db::RunRecord> const& runs,
                                              fs::path const& file) {
    if (is_taken(file)) return taken(file);
    std::vector<ExportedSteps> done;
    OSORA_TRY(auto out, NewFile::create(file));
    OSORA_TRY_VOID(out.write(csv_header()));
    for (auto const& run : runs) {
        OSORA_TRY(auto const series, series_of(run));
        OSORA_TRY_VOID(out.write(csv_rows(series, static_cast<int>(run.number), run.name)));
        done.push_back(exported(run, series, file));
    }
    OSORA_TRY_VOID(out.publish());
    return done;
}

Result<std::vector<ExportedSteps>> export_event_files(std::vector<db::RunRecord> const& runs,
                                                      fs::path const& folder) {
    std::vector<ExportedSteps> done;
    std::vector<std::string> contents;
    for (auto const& run : runs) {
        OSORA_TRY(auto const series, series_of(run));
        double const start_s = series.rows().empty() ? 0 : series.rows().begin()->second.wall_s;
        auto const file =
            folder / run.name / fmt::format("events.out.tfevents.{:.0f}.osora", start_s);
        done.push_back(exported(run, series, file));
        contents.push_back(series.rows().empty() ? std::string() : event_file(series));
        if (is_taken(file)) return taken(file);
    }
    for (std::size_t i = 0; i < done.size(); ++i) {
        if (done[i].steps == 0) continue;
        fs::path const file = done[i].file;
        OSORA_TRY_VOID(make_folder(file.parent_path()));
        OSORA_TRY(auto out, NewFile::create(file));
        OSORA_TRY_VOID(out.write(contents[i]));
        OSORA_TRY_VOID(out.publish());
    }
    return done;
}

}  // namespace osora::cli
