// The leader of a probe, sans-io: which probers are here, what to order next, what the answers add
// up to. The shell (prober.cpp) carries the messages and calls it with the time.
#pragma once

#include "daemon/prober/messages.hpp"
#include "topology/probe/probe_schedule.hpp"
#include "topology/probe_request.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace osora::daemon {

struct LeaderOptions {
    topology::ProbeRequest request;
    int world_size = 1;
    double join_limit_s = 20;   // for all probers to come
    double answer_limit_s = 6;  // beyond what an order itself takes
};

struct TellProber {
    int rank = 0;
    std::string message;  // a ToProber, encoded
};
/// The samples of a round, in the order of the journal.
struct RoundMeasured {
    topology::ProbeResult part;  // pairs or storage only
};
struct DropProber {
    int rank = 0;
};
struct LeaderDone {
    topology::ProbeResult result;
};
using LeaderAction = std::variant<TellProber, DropProber, RoundMeasured, LeaderDone>;
using LeaderActions = std::vector<LeaderAction>;

class ProbeLeader {
public:
    explicit ProbeLeader(LeaderOptions options);

    /// `address`: where its connection comes from. invalid_input: it is not a prober of this run,
    /// drop it.
    [[nodiscard]] Result<LeaderActions> joined(double now_s, ProberHello hello,
                                               std::string address);
    [[nodiscard]] LeaderActions heard(double now_s, int rank, FromProber const& message);
    [[nodiscard]] LeaderActions lost(double now_s, int rank, std::string const& why);
    /// When deadline_s() has come; also once at the start.
    [[nodiscard]] LeaderActions tick(double now_s);
    /// Stops: the result is what was measured so far.
    [[nodiscard]] LeaderActions finish();

    [[nodiscard]] double deadline_s() const { return deadline_s_; }
    [[nodiscard]] bool is_done() const { return done_; }

private:
    struct Prober {
        ProberHello hello;
        std::string address;
    };
    [[nodiscard]] LeaderActions start(double now_s);
    [[nodiscard]] LeaderActions next(double now_s);
    [[nodiscard]] LeaderActions next_storage(double now_s);
    [[nodiscard]] LeaderActions order(double now_s, topology::ProbeRound round);
    [[nodiscard]] LeaderActions after_answer(double now_s);
    [[nodiscard]] LeaderActions close_round(double now_s);
    void give_up(int rank, std::string const& why, LeaderActions& actions);
    [[nodiscard]] std::vector<topology::PairSample> samples_of(topology::PairTask const& task);
    [[nodiscard]] ProberAddress const* address_in(int rank, std::string const& network) const;
    [[nodiscard]] std::string interface_of(int rank, std::string const& network) const;

    LeaderOptions options_;
    std::map<int, Prober> probers_;
    std::map<int, std::string> lost_;  // and the reason
    std::optional<topology::ProbeSchedule> schedule_;
    std::optional<topology::ProbeRound> round_;
    std::map<int, TransferDone> answers_;        // of round_, by rank
    std::set<int> waited_;                       // whose answers are missing
    std::map<std::string, std::string> errors_;  // the last error of each "rank" of a transfer
    topology::ProbeResult result_;
    int storage_step_ = 0;
    int orders_ = 0;  // numbers orders: a late answer matches none
    double started_s_ = -1, deadline_s_ = 0;
    bool done_ = false;
};

}  // namespace osora::daemon
