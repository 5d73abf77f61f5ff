// Blocks are claimed by a counter in the ranks' store: it lives as long as the attempt, so a claim
// never outlives the rank that made it, and what is done is known from the rows alone. A step is a
// second of all ranks, so that a rank with slow clips does not hold up what people see.
#include "worker/jobs/score/score_job.hpp"

#include "base/sha256.hpp"
#include "base/text/printable.hpp"
#include "protocol/clip_score.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/same_data.hpp"
#include "worker/jobs/score/score_pool.hpp"
#include "worker/jobs/train_data.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <thread>

namespace osora::worker {
namespace {

using protocol::Phase;
using ScoreClock = std::chrono::steady_clock;

struct ScoreList {
    std::filesystem::path output, shards;
    std::vector<ListedClip> clips;
    AskedScores asked;
    ScoreKey key;
    ShardIndex had;
};

Result<ScoreList> open_list(plan::WorkerJob const& job) {
    auto const& section = job.config.score;
    ScoreList list;
    auto models = plan::model_files(section);
    for (auto& [score, file] : models) file = resolve(job, file);
    double const deadline = section.deadline.value_or(
        protocol::score_deadline_s(protocol::asked_names(section.scores, models)));
    auto asked = asked_scores(section.scores, section.frames.value_or(protocol::kScoreFrames),
                              deadline, models);
    if (asked.has_error()) return std::move(asked).error().in("[score]");
    list.asked = *asked;
    list.output = resolve(job, section.output);
    list.shards = std::filesystem::path(job.run_dir) / "score";
    auto clips = list_clips(resolve(job, job.config.data.manifest), job.config.data.columns);
    if (clips.has_error()) return std::move(clips).error().in("data.manifest");
    list.clips = std::move(*clips);
    list.key = score_key(list.clips, list.asked);
    OSORA_TRY(list.had, read_shards(list.shards, list.key, list.clips.size()));
    return list;
}

/// A file that this run has not written is not replaced.
Result<void> check_output(ScoreList const& list) {
    std::error_code ignored;
    if (!list.had.files.empty() || !std::filesystem::exists(list.output, ignored)) return {};
    return invalid("score.output: " + list.output.string() +
                   " is there already; move it away or give another name");
}

/// The counters that ranks share; alone, of this process.
class SharedCounters {
public:
    explicit SharedCounters(std::optional<Group> const& group, int attempt)
        : group_(group), attempt_(attempt) {}

    /// Adds and returns the new value. unreachable: rank 0 is gone.
    Result<std::int64_t> add(std::string const& name, std::int64_t count) {
        if (!group_) return (name == "block" ? block_ : ended_) += count;
        try {
            return group_->store().add(fmt::format("score/{}/{}", attempt_, name), count);
        } catch (std::exception const& error) {
            return Error{Errc::unreachable, fmt::format("store: {}", error.what())};
        }
    }

private:
    std::optional<Group> const& group_;
    int attempt_;
    std::atomic<std::int64_t> block_ = 0, ended_ = 0;
};

/// Reports a step each second, then each ten.
class ScoreSteps {
public:
    ScoreSteps(AgentLink& agent, std::string manifest)
        : agent_(agent), manifest_(std::move(manifest)) {}

    [[nodiscard]] bool is_due() const { return ScoreClock::now() >= start_ + length(); }
    [[nodiscard]] int next_step() const { return next_; }

    void end(ScorePool::Done const& done) {
        auto const now = ScoreClock::now();
        protocol::StepMetrics metrics;
        metrics.step = next_++;
        metrics.bucket = "score";
        metrics.step_time_s = std::chrono::duration<double>(now - start_).count();
        metrics.forward_s = metrics.step_time_s;
        metrics.samples = static_cast<int>(done.clips);
        metrics.rss_bytes = resident_bytes();
        agent_.send(metrics);
        if (metrics.step == 0)
            agent_.send(protocol::PhaseChanged{.phase = Phase::step, .limit_s = 0});
        start_ = now;
        for (auto const& each : done.faults) {
            if (noticed_++ < kNoticesMax) notice(each);
        }
    }

private:
    static constexpr int kNoticesMax = 100;  // all of them are in the rows
    [[nodiscard]] std::chrono::seconds length() const {
        constexpr int kShort = 120;
        return std::chrono::seconds(next_ < kShort ? 1 : 10);
    }
    void notice(ScorePool::Fault const& fault) {
        agent_.send(
            protocol::WorkerNotice{.kind = "clip_skipped",
                                   .severity = "warning",
                                   .step = next_,
                                   .detail = fmt::format("{}:{}: {}: {}", manifest_, fault.line,
                                                         printable(fault.path), fault.reason)});
    }

    AgentLink& agent_;
    std::string manifest_;
    int next_ = 0, noticed_ = 0;
    ScoreClock::time_point start_ = ScoreClock::now();
};

/// Until the pools of all ranks have ended. true: all clips have a row.
Result<bool> follow_pool(ScorePool& pool, SharedCounters& counters, RankEnvironment const& self,
                         AgentLink& agent, ScoreSteps& steps) {
    constexpr std::chrono::milliseconds kPoll(50), kSlowPoll(200);
    constexpr std::chrono::seconds kGrace(60);
    bool counted = false;
    for (;;) {
        if (agent.stop_order()) {
            pool.stop();
            while (!pool.ended()) std::this_thread::sleep_for(kPoll);
            steps.end(pool.take());
            return false;
        }
        bool const ended = pool.ended();
        if (ended) OSORA_TRY_VOID(pool.result());
        // Silence about a clip that hangs lets the agent find the hang.
        if (steps.is_due() && !pool.overdue(kGrace)) steps.end(pool.take());
        if (ended) {
            OSORA_TRY(std::int64_t const all, counters.add("ended", counted ? 0 : 1));
            counted = true;
            if (all >= self.world_size) break;
        }
        std::this_thread::sleep_for(counted ? kSlowPoll : kPoll);
    }
    steps.end(pool.take());
    return true;
}

ReadSummary summary_of(ScoreList const& list) {
    constexpr std::size_t kDigits = 15;
    std::string const of_all =
        list.key.models.empty() ? list.key.list : sha256_hex(list.key.list + list.key.models);
    return {.hash = static_cast<std::int64_t>(
                std::strtoll(of_all.substr(0, kDigits).c_str(), nullptr, 16)),
            .clips = static_cast<std::int64_t>(list.clips.size())};
}

/// Of the process, with the hash of each model and where it computes.
std::map<std::string, std::string> facts_of(ScoreList const& list,
                                            std::vector<ScoreTools> const& tools) {
    auto facts = process_facts(Device());
    for (std::size_t i = 0; i < list.asked.models.size(); ++i) {
        auto const& model = list.asked.models[i];
        facts[model.score + "_model"] =
            fmt::format("sha256 {}, {}", model.hash, tools.front().models[i]->device());
    }
    return facts;
}

/// Rank 0 has the store: it ends after the others have read that all have ended, or after a minute,
/// as a rank that fails here fails the attempt anyway.
Result<void> leave(SharedCounters& counters, RankEnvironment const& self, AgentLink& agent) {
    constexpr std::chrono::milliseconds kPoll(20);
    if (self.world_size == 1) return {};
    OSORA_TRY(std::int64_t left, counters.add("left", self.rank == 0 ? 0 : 1));
    if (self.rank != 0) return {};
    auto const until = ScoreClock::now() + std::chrono::minutes(1);
    while (left + 1 < self.world_size && ScoreClock::now() < until && !agent.stop_order()) {
        std::this_thread::sleep_for(kPoll);
        OSORA_TRY(left, counters.add("left", 0));
    }
    return {};
}

Result<void> write_output(ScoreList const& list) {
    OSORA_TRY(auto const rows, read_shards(list.shards, list.key, list.clips.size()));
    return merge_shards(rows, score_header(list.asked.columns()), list.output);
}

}  // namespace

Result<TrainOutcome> run_score_job(plan::WorkerJob const& job, RankEnvironment const& self,
                                   AgentLink& agent) {
    agent.send(protocol::PhaseChanged{.phase = Phase::loading, .limit_s = 0});
    OSORA_TRY(auto const list, open_list(job));
    if (self.rank == 0) OSORA_TRY_VOID(check_output(list));
    int const threads = std::max(1, job.plan.chosen.num_workers);
    auto opened = score_tools(
        list.asked,
        {.threads = threads, .local_rank = self.local_rank, .reader = reader_program()});
    if (opened.has_error()) return std::move(opened).error().in("[score]");
    auto facts = facts_of(list, *opened);
    Device const device;  // the ranks talk on the CPU
    OSORA_TRY(auto const group, join_ranks(self, device, waiting_of(job)));
    if (auto const same = check_same_data(group, summary_of(list)); same.has_error()) {
        Error differs = same.error();
        if (!list.key.models.empty()) differs.message += "; models here: " + list.key.models;
        return differs;
    }
    OSORA_TRY(auto writer, ShardWriter::open(list.shards, list.key, self.attempt, self.rank));
    SharedCounters counters(group, self.attempt);
    auto const next = [&counters]() -> Result<std::int64_t> {
        OSORA_TRY(std::int64_t const after, counters.add("block", 1));
        return after - 1;
    };
    ScorePool::Work work{.clips = list.clips,
                         .asked = list.asked,
                         .had = list.had,
                         .block = score_block(list.clips.size(), threads * self.world_size),
                         .next = next,
                         .tools = std::move(*opened)};
    agent.send(protocol::WorkerHello{.rank = self.rank,
                                     .pid = static_cast<int>(::getpid()),
                                     .start_step = 0,
                                     .facts = std::move(facts)});
    agent.send(protocol::PhaseChanged{.phase = Phase::first_step, .limit_s = 0});
    ScoreSteps steps(agent, job.config.data.manifest);
    auto const pool = ScorePool::start(std::move(work), std::move(writer));
    OSORA_TRY(bool const all, follow_pool(*pool, counters, self, agent, steps));
    if (!all) return TrainOutcome{steps.next_step(), true};
    agent.send(protocol::PhaseChanged{.phase = Phase::finishing, .limit_s = 0});
    if (self.rank == 0) OSORA_TRY_VOID(write_output(list));
    OSORA_TRY_VOID(leave(counters, self, agent));
    return TrainOutcome{steps.next_step(), false};
}

}  // namespace osora::worker
