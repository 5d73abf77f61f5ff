// A run file and the layers under it as a RunConfig: defaults < site file < user file < run file <
// --set. Pure: takes texts, returns all problems at once. config_files.hpp reads the files.
#pragma once

#include "plan/config/origin.hpp"
#include "plan/config/run_config.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

/// A problem that the user must fix: "stage1.toml:21: parallel.tp_size = 0: must be at least 1".
struct ConfigProblem {
    Origin where;
    int column = 0;       // 1-based, for a syntax error; else 0
    std::string message;  // without the place
};
[[nodiscard]] std::string to_text(ConfigProblem const& problem);

/// One file of settings.
struct ConfigText {
    Layer layer = Layer::run;
    std::string file;  // as shown to the user
    std::string text;
};

/// A [[stage]] applied over what precedes it: the run from at_step on.
struct ResolvedStage {
    int at_step = 0;
    Origin where;
    RunConfig config;
    Origins origins;        // origins of config
    bool new_rate = false;  // it sets a key of the learning rate, which restarts
};

struct ResolvedConfig {
    RunConfig config;
    Origins origins;
    std::string run_file;       // name for problems without a line
    std::string run_file_text;  // text that was parsed; "": there is no run file
    std::vector<ResolvedStage> stages;
    std::vector<ConfigProblem> problems;
    bool whole = true;             // every layer was found and is valid TOML
    std::set<std::string> unread;  // keys with an invalid value, which keep a lower layer's value
};

constexpr std::size_t kRunFileBytesMax = 1u << 20;

/// Stage `index` as a separate configuration, without problems.
[[nodiscard]] ResolvedConfig stage_view(ResolvedConfig const& resolved, std::size_t index);

/// `layers` from the lowest to the highest; `sets` are "section.key=value", applied last. Checks
/// each value and the rules between keys; problems are in the order of layers and lines.
[[nodiscard]] ResolvedConfig resolve_config(std::vector<ConfigText> const& layers,
                                            std::vector<std::string> const& sets);

/// A problem of `key`, located where its value was written: "train.steps = 5: MESSAGE".
[[nodiscard]] ConfigProblem problem_of(ResolvedConfig const& resolved, std::string const& key,
                                       std::string_view message);
/// Adds that problem to `resolved`.
void complain(ResolvedConfig& resolved, std::string const& key, std::string_view message);

/// The value of "section.key", "bucket[0].key", "nccl.NAME" or "worker.env.NAME" as TOML; empty if
/// there is no such key.
[[nodiscard]] std::string value_text(RunConfig const& config, std::string_view key);

}  // namespace osora::plan
