// The trials of osora bisect, osora bisect --scaling and osora tune: one JSON file per search,
// STATE/bisects/ID.json or STATE/tunes/ID.json, complete after each trial. The files are
// authoritative; history.db is filled from them. Written by the commands.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::db {

constexpr int kInvestigationVersion = 1;

/// NaN: not measured, or not applicable to this kind of search.
inline constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

struct InvestigatedTrial {
    std::vector<std::string> changed = {};  // items that were not as in the good run, or not as
                                            // configured
    std::string flipped = {};               // "0110": by item of the question
    std::string status = "measured";        // measured, cannot_start, aborted
    double value_s = kNoFigure, cost_gpu_s = kNoFigure;
    std::string run = {};                        // "stage1-bisect-0043"; empty: none was made
    std::string failure = {};                    // why it was not measured
    std::map<std::string, double> figures = {};  // other figures that the search needs, by name
};
BOOST_DESCRIBE_STRUCT(InvestigatedTrial, (),
                      (changed, flipped, status, value_s, cost_gpu_s, run, failure, figures))

/// A culprit, or a setting that was judged.
struct InvestigatedItem {
    std::string item, good, bad;  // for a setting: its name, "" and the tried value
    double share = kNoFigure;     // share of the gap; for a setting: of the step time that it saves
    double low = kNoFigure, high = kNoFigure;  // 95 % interval of `share`
    bool holds = true;                         // it is a cause, or the setting helps
    std::string reason = {};
};
BOOST_DESCRIBE_STRUCT(InvestigatedItem, (), (item, good, bad, share, low, high, holds, reason))

struct InvestigationEnd {
    std::int64_t wall_us = 0;
    std::string verdict;           // as osora.bisect/1; of a tune: helps, nothing_helps
    std::string relation = {};     // none, single, both, either, additive
    double p = kNoFigure;          // one-sided
    double explained = kNoFigure;  // share of the gap
    double good_s = kNoFigure, bad_s = kNoFigure;  // levels
    std::vector<InvestigatedItem> culprits = {};
};
BOOST_DESCRIBE_STRUCT(InvestigationEnd, (),
                      (wall_us, verdict, relation, p, explained, good_s, bad_s, culprits))

/// The question. Runs by uuid; "": none.
struct InvestigationQuestion {
    std::string good = {}, bad = {};
    std::string rung = {};                // rehearsal, run
    int steps = 0;                        // steps of a trial
    std::vector<std::string> atoms = {};  // items that are switched, in the order of `flipped`
    friend bool operator==(InvestigationQuestion const&, InvestigationQuestion const&) = default;
};
BOOST_DESCRIBE_STRUCT(InvestigationQuestion, (), (good, bad, rung, steps, atoms))

/// Fields that are missing in a file keep their defaults: a bisect has no kind and no series.
struct Investigation {
    int version = kInvestigationVersion;
    std::string kind = "bisect";  // bisect, scaling, tune
    std::string series = {};
    InvestigationQuestion question = {};
    std::vector<InvestigatedTrial> trials = {};
    std::optional<InvestigationEnd> ended = {};
};
BOOST_DESCRIBE_STRUCT(Investigation, (), (version, kind, series, question, trials, ended))

}  // namespace osora::db
