// The ground truth: which verdict, cause and number of relaunches the injected faults allow.
#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::sim {

using protocol::RunState;
using protocol::Verdict;

namespace {

/// The effect of a fault that fired alone.
struct Expected {
    bool relaunch = false;          // ends the attempt, which is retried
    bool may_relaunch = false;      // depends on how long it takes
    Verdict verdict = Verdict::ok;  // without a retry
    int exit_code = 0;
};

Expected expected_of_exit(int code, bool exec) {
    if (code == 93) return {false, false, Verdict::app_bug, 93};
    if (code == 17) return {true, false, Verdict::node_fault, 1};  // Workers::end() says why
    if (exec) return {true, false, Verdict::app_bug, 1};
    switch (code) {
        case 10:
            return {true, false, Verdict::comm, 1};
        case 11:
        case 12:
            return {false, false, Verdict::oom, 1};
        case 13:
            return {false, false, Verdict::data, 1};
        default:
            return {false, false, Verdict::app_bug, 1};
    }
}

/// An agent without contact for so long, for certain or possibly, costs a relaunch.
Expected expected_of_silence(Time length) {
    if (length < 2500ms) return {};
    return {length > 6s, length <= 6s, Verdict::node_fault, 1};
}

Expected expected_of(Fault const& fault, Scenario const& scenario) {
    switch (fault.kind) {
        case FaultKind::kill_worker:
            return {true, false, Verdict::node_fault, 1};
        case FaultKind::crash_worker:
            return {true, false, Verdict::app_bug, 1};
        case FaultKind::fail_worker:
            return expected_of_exit(fault.code, scenario.exec);
        case FaultKind::vanish_worker:
            return {false, false, Verdict::app_bug, 1};
        case FaultKind::hang_worker:
            return {true, false, Verdict::no_progress, 1};
        case FaultKind::kill_agent:
        case FaultKind::no_port:
            return {true, false, Verdict::node_fault, 1};
        case FaultKind::freeze_agent:
        case FaultKind::partition:
            return expected_of_silence(fault.length);
        case FaultKind::kill_controller:
        case FaultKind::freeze_controller: {
            // A controller that slept itself blames nobody; the agents' lease may run out, unless
            // it is long: then the next controller finds every rank at work.
            if (fault.length < 3500ms || scenario.long_lease()) return {};
            Expected silence = expected_of_silence(fault.length);
            silence.may_relaunch = silence.may_relaunch || silence.relaunch;
            silence.relaunch = false;
            return silence;
        }
        case FaultKind::slow_disk:
            return {};
        case FaultKind::stop_gracefully:
        case FaultKind::stop_twice:
        case FaultKind::stop_now:
        case FaultKind::break_lifeline:
            return {false, false, Verdict::cancelled, 130};
        default:
            return {};
    }
}

class Judge {
public:
    Judge(Scenario const& scenario, Ending const& ending) : scenario_(scenario), ending_(ending) {
        for (Fault const& each : scenario.faults) {
            if (each.fired) fired_.push_back(each);
        }
    }

    std::vector<std::string> judge() {
        if (has(FaultKind::lose_controller) || has(FaultKind::full_disk)) {
            judge_headless();
        } else if (ending_.status.state != RunState::done) {
            wrong("the journal does not end");
        } else if (fired_.empty()) {
            judge_undisturbed();
        } else if (fired_.size() == 1) {
            judge_one(fired_.front());
        } else {
            judge_many();
        }
        return wrong_;
    }

private:
    [[nodiscard]] bool has(FaultKind kind) const {
        return std::ranges::find(fired_, kind, &Fault::kind) != fired_.end();
    }
    void wrong(std::string what) { wrong_.push_back(std::move(what)); }

    /// Without a controller, or without a journal: nothing is recorded of the end, and a later
    /// command finds the run without one.
    void judge_headless() {
        if (has(FaultKind::full_disk) && ending_.finished && ending_.exit_code != 1 &&
            ending_.status.state != RunState::done) {
            wrong(fmt::format("exit code {} after a full disk", ending_.exit_code));
        }
    }

    void judge_undisturbed() {
        bool const ok = ending_.status.verdict == Verdict::ok && ending_.status.restarts == 0 &&
                        ending_.exit_code == 0 && ending_.status.cause.empty();
        if (!ok) wrong("an undisturbed run did not end well: " + ending_.status.cause);
        bool const tells_steps = !scenario_.exec;
        if (tells_steps && ending_.whole_steps != scenario_.steps) {
            wrong(fmt::format("{} of {} steps are whole", ending_.whole_steps, scenario_.steps));
        }
    }

    void judge_one(Fault const& fault) {
        Expected const wanted = expected_of(fault, scenario_);
        bool const hit = ending_.status.verdict != Verdict::ok || ending_.status.restarts > 0;
        if (fault.kind == FaultKind::ask_relaunch && ending_.status.asked_relaunches != 1) {
            wrong("the relaunch that a user asked for is not counted");
        }
        if (!hit && !wanted.relaunch && wanted.verdict == Verdict::ok) return;
        if (!hit && (wanted.may_relaunch || too_late(fault))) return;
        if (!hit) {
            wrong("the fault had no effect");
            return;
        }
        if (wanted.verdict == Verdict::ok) {
            wrong("the run was disturbed without a reason: " + ending_.causes.front());
            return;
        }
        bool const relaunches = wanted.relaunch || wanted.may_relaunch;
        if (relaunches && scenario_.restarts_max > 0) {
            expect_end(Verdict::ok, 0);
            if (ending_.status.restarts != 1) wrong("not exactly one relaunch");
        } else {
            expect_end(wanted.verdict, wanted.exit_code);
        }
        if (fault.kind == FaultKind::kill_controller ||
            fault.kind == FaultKind::freeze_controller) {
            return;  // the agents' lease ends the attempt, on whichever node it is seen first
        }
        // A rank that lost its peers cannot be distinguished from one that reports so without a
        // reason.
        bool const echo =
            fault.kind == FaultKind::fail_worker && (fault.code == 10 || scenario_.exec);
        if (echo && ending_.causes.front().find("exited with") != std::string::npos) return;
        if (ending_.causes.front().find(fault.cause) == std::string::npos) {
            wrong(fmt::format("cause '{}' instead of '{}'", ending_.causes.front(), fault.cause));
        }
        check_stop(fault);
    }

    /// Its effect would have come after the end of the run.
    [[nodiscard]] bool too_late(Fault const& fault) const {
        bool const silence = fault.kind == FaultKind::freeze_agent ||
                             fault.kind == FaultKind::partition ||
                             fault.kind == FaultKind::kill_agent;
        return silence && ending_.finished_at < fault.when + fault.length + 6s;
    }

    void expect_end(Verdict verdict, int exit_code) {
        if (ending_.status.verdict == verdict && ending_.exit_code == exit_code) return;
        wrong(fmt::format("verdict {} and exit code {} instead of {} and {}; cause: {}",
                          static_cast<int>(ending_.status.verdict), ending_.exit_code,
                          static_cast<int>(verdict), exit_code, ending_.status.cause));
    }

    void check_stop(Fault const& fault) {
        Time const took = ending_.finished_at - ending_.stop_asked;
        if (fault.kind == FaultKind::break_lifeline && took > 10s)
            wrong("a lifeline held for over 10 s");
        if (fault.kind == FaultKind::stop_now && took > 10s) wrong("stopping took over 10 s");
    }

    void judge_many() {
        Verdict const verdict = ending_.status.verdict;
        bool const known = std::ranges::any_of(fired_, [&](Fault const& each) {
            return expected_of(each, scenario_).verdict == verdict;
        });
        // Faults cause secondary failures of each other: lost peers, silent nodes, ended leases.
        bool const echo = verdict == Verdict::ok || verdict == Verdict::comm ||
                          verdict == Verdict::node_fault || verdict == Verdict::no_progress;
        if (!known && !echo) {
            wrong(fmt::format("verdict {} that no fault explains: {}", static_cast<int>(verdict),
                              ending_.status.cause));
        }
        if (verdict != Verdict::ok && ending_.status.cause.empty()) wrong("an end without a cause");
    }

    Scenario const& scenario_;
    Ending const& ending_;
    std::vector<Fault> fired_;
    std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> judge(Scenario const& scenario, Ending const& ending) {
    return Judge(scenario, ending).judge();
}

}  // namespace osora::sim
