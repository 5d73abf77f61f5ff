// JSON lines: an osora.event/1 for each event, an osora.progress/1 when there are new steps (at
// most once a second), an osora.end/1 at the end.
#include "base/text/printable.hpp"
#include "cli/command/explanations.hpp"
#include "cli/run/follow/follow_output.hpp"
#include "cli/run/follow/live_figures.hpp"
#include "cli/run/follow/node_table.hpp"
#include "protocol/messages/message.hpp"

namespace osora::cli {
namespace {

using protocol::json::object;

class JsonOutput final : public FollowOutput {
public:
    explicit JsonOutput(Write write) : write_(std::move(write)) {}

    void record(protocol::RunView const&, protocol::JournalRecord const& record,
                protocol::RunView const& after) override {
        if (std::holds_alternative<protocol::MetricChunk>(record.event) ||
            std::holds_alternative<protocol::MergedSteps>(record.event) ||
            std::holds_alternative<protocol::ProbePart>(record.event) ||
            std::holds_alternative<protocol::CollectiveSums>(record.event) ||
            std::holds_alternative<protocol::RankMatrix>(record.event)) {
            return;
        }
        object line{{"schema", "osora.event/1"},
                    {"sequence", record.sequence},
                    {"wall_us", record.wall_us},
                    {"state", protocol::to_json(after.status.state)}};
        std::visit(
            [&]<class T>(T const& event) {
                line["type"] = T::kType;
                auto fields = protocol::object_to_json(event);
                // Long, and already printed in lines before the first event.
                for (char const* field : {"config", "origins", "plan"}) fields.erase(field);
                for (auto const& [key, value] : fields) line[key] = value;
            },
            record.event);
        print(line);
    }

    void waiting(std::string) override {}

    void tick(protocol::RunView const& view, Moment now) override {
        constexpr double kEverySeconds = 1;
        if (view.recent_steps.empty() || view.steps_done == said_steps_) return;
        if (said_steps_ >= 0 && now.steady_s - said_s_ < kEverySeconds) return;
        said_s_ = now.steady_s;
        progress(view);
    }

    void say(std::string_view text) override {
        print({{"schema", "osora.message/1"}, {"text", text}});
    }
    void resized(int, int) override {}

    void end(protocol::RunView const& view, std::string_view lost) override {
        if (!view.recent_steps.empty() && view.steps_done != said_steps_) progress(view);
        print({{"schema", "osora.end/1"},
               {"run", view.number},
               {"state", protocol::to_json(view.status.state)},
               {"verdict", protocol::to_json(view.status.verdict)},
               {"exit_code", view.status.exit_code},
               {"id", explanation_of(view)},
               {"cause", lost.empty() ? std::string_view(view.status.cause) : lost},
               {"steps_done", view.steps_done},
               {"checkpoint_step", view.status.checkpoint_step},
               {"restarts", view.status.restarts},
               {"asked_relaunches", view.status.asked_relaunches}});
    }

private:
    void print(object const& line) {
        write_(printable_json(protocol::json::serialize(line)) + "\n");
    }

    void progress(protocol::RunView const& view) {
        said_steps_ = view.steps_done;
        auto const live = live_figures(view);
        print({{"schema", "osora.progress/1"},
               {"run", view.number},
               {"attempt", view.status.attempt},
               {"steps_done", view.steps_done},
               {"steps", view.steps},
               {"loss", live.loss},
               {"smooth_loss", live.smooth_loss},
               {"step_time_s", live.step_time_s},
               {"samples_per_s", live.samples_per_s},
               {"eta_s", live.eta_s},
               {"data_wait_share", protocol::to_json(view.data_wait_share)},
               {"exposed_comm_share", protocol::to_json(view.exposed_comm_share)},
               {"rss_bytes", null_if_zero(view.rss_bytes)},
               {"peak_allocated_bytes", null_if_zero(view.peak_allocated_bytes)},
               {"rank_wait_share", protocol::to_json(view.rank_wait_share)},
               {"slow_rank", protocol::to_json(view.straggler)},
               {"nodes", nodes(view)},
               {"checkpoint_step", view.status.checkpoint_step}});
    }

    static protocol::json::array nodes(protocol::RunView const& view) {
        protocol::json::array list;
        for (std::size_t i = 0; i < view.node_views.size(); ++i) {
            auto const& each = view.node_views[i];
            list.push_back(
                object{{"node", i},
                       {"host", node_name(view, static_cast<int>(i))},
                       {"steps_done", each.steps_done},
                       {"step_time_s", protocol::to_json(each.step_time_s)},
                       {"arrival_s", protocol::to_json(each.arrival_s)},
                       {"exposed_comm_s", protocol::to_json(each.exposed_comm_s)},
                       {"latest_rank", each.latest_rank},
                       {"rss_bytes", null_if_zero(each.rss_bytes)},
                       {"peak_allocated_bytes", null_if_zero(each.peak_allocated_bytes)}});
        }
        return list;
    }

    Write write_;
    int said_steps_ = -1;
    double said_s_ = 0;
};

}  // namespace

std::unique_ptr<FollowOutput> json_output(Write write) {
    return std::make_unique<JsonOutput>(std::move(write));
}

}  // namespace osora::cli
