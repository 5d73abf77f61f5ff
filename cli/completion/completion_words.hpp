// What all completion scripts offer, from the command table and the run file's schema. Pure.
#pragma once

#include "cli/command/command.hpp"

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

struct OfferedWord {
    std::string word, text;  // text: what it does, one line; may be empty
};

struct CompletionWords {
    std::vector<OfferedWord> commands;  // first words, sorted
    std::set<std::string> pairs;        // commands of two words: "config show"
    /// Second words after a first word that is no command itself.
    std::map<std::string, std::vector<OfferedWord>> seconds;
    std::vector<std::string> keys;  // for --set: "train.steps="
};

[[nodiscard]] CompletionWords completion_words(std::span<CommandSpec const> table);

/// The first sentence of a help text, without its point.
[[nodiscard]] std::string first_sentence(std::string_view help);

/// "a|b" -> "a b".
[[nodiscard]] std::string words_of_choices(std::string_view choices);

}  // namespace osora::cli
