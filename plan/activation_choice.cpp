#include "plan/activation_choice.hpp"

#include "plan/config/sections/memory_section.hpp"

#include <fmt/format.h>

#include <charconv>

namespace osora::plan {

Result<RecomputeChoice> recompute_choice(std::string_view text) {
    if (text == "none") return RecomputeChoice{};
    if (text == "selective") return RecomputeChoice{.first_blocks = 0, .attention = true};
    if (text == "full") return RecomputeChoice::full();
    RecomputeChoice choice;
    auto const [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), choice.first_blocks);
    if (error == std::errc() && end == text.data() + text.size() && choice.first_blocks > 0)
        return choice;
    return Error{Errc::invalid_input,
                 fmt::format("\"{}\" is no way to recompute; valid: none, selective, full, or a "
                             "number of blocks from 1 on",
                             text)};
}

RecomputeChoice checked_recompute(std::string_view text) {
    auto const choice = recompute_choice(text);
    return choice ? *choice : RecomputeChoice{};
}

std::vector<ActivationChoice> activation_choices(MemorySection const& memory, bool gpu) {
    std::vector<ActivationChoice> all{{"none", "none"}, {"selective", "none"}, {"full", "none"}};
    // The int8 store takes less time than recomputing blocks on a CPU, more on a GPU, where it
    // packs operator by operator (docs/rfc/034).
    if (memory.allow_lossy) all.insert(gpu ? all.end() : all.begin() + 1, {"none", "int8"});
    std::vector<ActivationChoice> chosen;
    for (ActivationChoice choice : all) {
        if (!memory.recompute.is_auto()) choice.recompute = *memory.recompute.value;
        if (!memory.activation_store.is_auto()) choice.store = *memory.activation_store.value;
        bool known = false;
        for (ActivationChoice const& other : chosen)
            known = known || (other.recompute == choice.recompute && other.store == choice.store);
        if (!known) chosen.push_back(choice);
    }
    return chosen;
}

bool is_lossy(std::string_view store, std::string_view precision) {
    return store == "int8" || (store == "bf16" && precision == "fp32");
}

}  // namespace osora::plan
