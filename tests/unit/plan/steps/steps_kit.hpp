// What StepFinder makes of a log, in words.
#pragma once

#include "base/text/line_splitter.hpp"
#include "plan/steps/step_finder.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace osora::plan {

inline std::vector<StepFigures> steps_in(std::string_view text) {
    std::vector<StepFigures> steps;
    StepFinder finder;
    LineSplitter splitter;
    auto const keep = [&](std::string_view line) {
        auto found = finder.find(line);
        while (auto before = finder.earlier()) steps.push_back(std::move(*before));
        if (found) steps.push_back(std::move(*found));
    };
    splitter.feed(text, keep);
    splitter.feed("\n", keep);
    if (auto last = finder.end()) steps.push_back(std::move(*last));
    return steps;
}

/// "446 2.23s loss 0.118": missing figures are omitted.
inline std::string words(StepFigures const& figures) {
    std::string text = fmt::format("{}", figures.at("step"));
    auto const at = [&](char const* name) { return figures.find(name); };
    if (at("time_s") != figures.end()) text += fmt::format(" {:.5g}s", at("time_s")->second);
    if (at("loss") != figures.end()) text += fmt::format(" loss {:.5g}", at("loss")->second);
    return text;
}
inline std::vector<std::string> words(std::vector<StepFigures> const& steps) {
    std::vector<std::string> all;
    for (auto const& each : steps) all.push_back(words(each));
    return all;
}

}  // namespace osora::plan
