// The file: a line "osora.queue/1 UID MICROSECONDS ok|failed", then the output of squeue (or the
// error). Ages use the wall clock, which processes and machines share; a clock that jumps only
// causes an extra call.
#include "cli/run/slurm/shared_queue.hpp"

#include "base/env.hpp"
#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "cli/run/slurm/slurm_job.hpp"
#include "slurm/queue_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <optional>
#include <sstream>

namespace osora::cli {
namespace {

constexpr char const* kQueueSchema = "osora.queue/1";
constexpr std::int64_t kBytesMax = 64 << 20;
constexpr auto kLockWait = std::chrono::seconds(5);

struct Kept {
    bool ok = false;
    std::string text;
    MonotonicTime age{};
};

std::optional<Kept> kept_answer(std::filesystem::path const& file, MonotonicTime age_max) {
    auto const content = read_file(file, kBytesMax);
    if (content.has_error()) return {};
    auto const line_end = content->find('\n');
    if (line_end == content->npos) return {};
    std::istringstream head(content->substr(0, line_end));
    std::string schema, outcome;
    std::int64_t uid = -1, then_us = 0;
    head >> schema >> uid >> then_us >> outcome;
    std::int64_t const age_us = wall_now_us() - then_us;
    bool const usable = !head.fail() && schema == kQueueSchema && uid == ::geteuid() && age_us >= 0;
    MonotonicTime const age = std::chrono::microseconds(age_us);
    if (!usable || age > age_max) return {};
    return Kept{outcome == "ok", content->substr(line_end + 1), age};
}

Result<QueueAnswer> answer_of(Kept const& kept) {
    if (!kept.ok) return Error{Errc::unreachable, kept.text};
    OSORA_TRY(auto jobs, slurm::parse_queue(kept.text));
    return QueueAnswer{std::move(jobs), kept.age};
}

/// A cluster's name comes from outside.
std::string queue_file_name(std::string const& cluster) {
    std::string name = "queue";
    if (!cluster.empty()) name += '-';
    for (char const each : cluster) {
        bool const plain = std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_';
        name += plain ? each : '-';
    }
    return name;
}

}  // namespace

Result<QueueAnswer> shared_queue(Context const& context, std::filesystem::path const& state,
                                 MonotonicTime age_max, std::string const& cluster) {
    auto const file = state / queue_file_name(cluster);
    if (auto const kept = kept_answer(file, age_max)) return answer_of(*kept);
    auto const lock = FileLock::acquire(file.string() + ".lock", kLockWait);
    bool const busy = lock.has_error() && lock.error().code == Errc::busy;
    if (busy) return Error{Errc::busy, "squeue has not answered yet"};
    // Another process may have asked meanwhile.
    if (auto const kept = kept_answer(file, age_max)) return answer_of(*kept);
    auto const said = run_squeue(context, cluster);
    Kept const kept{said.has_value(), said.has_value() ? *said : said.error().message};
    // If the answer cannot be shared (a full disk, a folder of another user), this process still
    // uses it.
    (void)write_file_atomic(file,
                            fmt::format("{} {} {} {}\n{}", kQueueSchema, ::geteuid(), wall_now_us(),
                                        kept.ok ? "ok" : "failed", kept.text),
                            kPrivate);
    return answer_of(kept);
}

}  // namespace osora::cli
