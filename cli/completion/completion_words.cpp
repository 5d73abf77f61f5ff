#include "cli/completion/completion_words.hpp"

#include "plan/config/schema.hpp"

#include <fmt/format.h>
#include <boost/algorithm/string/replace.hpp>

#include <algorithm>

namespace osora::cli {

std::string first_sentence(std::string_view help) {
    auto const end = help.find(". ");
    auto sentence = help.substr(0, end);
    if (sentence.ends_with('.')) sentence.remove_suffix(1);
    return std::string(sentence.substr(0, sentence.find('\n')));
}

std::string words_of_choices(std::string_view choices) {
    return boost::replace_all_copy(std::string(choices), "|", " ");
}

CompletionWords completion_words(std::span<CommandSpec const> table) {
    CompletionWords words;
    std::map<std::string, std::string> firsts, alone;
    for (CommandSpec const& command : table) {
        if (command.hidden) continue;
        std::string const name(command.name);
        auto const space = name.find(' ');
        if (space == std::string::npos) {
            alone[name] = command.summary;
            continue;
        }
        words.pairs.insert(name);
        auto& seconds = words.seconds[name.substr(0, space)];
        seconds.push_back({name.substr(space + 1), std::string(command.summary)});
    }
    for (auto& [first, seconds] : words.seconds) {
        std::ranges::sort(seconds, {}, &OfferedWord::word);
        std::string text;
        for (auto const& each : seconds) text += (text.empty() ? "" : ", ") + each.word;
        firsts[first] = text;
    }
    for (auto const& [name, summary] : alone) {
        words.seconds.erase(name);
        firsts[name] = summary;
    }
    for (auto const& [name, text] : firsts) words.commands.push_back({name, text});
    for (plan::SchemaRow const& row : plan::schema_rows()) {
        if (row.section == "bucket") continue;
        words.keys.push_back(fmt::format("{}.{}=", row.section, row.key));
    }
    return words;
}

}  // namespace osora::cli
