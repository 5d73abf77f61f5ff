// osora model forward|train-step|merge: runs osora-worker on the tensors of safetensors files.
#include "base/text/units.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/worker_output.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <map>

namespace osora::cli {
namespace {

/// "stdit3: 2 out, 89 grad, 2 grad_in in o.safetensors, 0.12 s".
Result<std::string> component_summary(std::string_view text) {
    OSORA_TRY(auto const value, protocol::parse_json(text));
    std::map<std::string, int> groups;
    for (auto const& tensor : value.at("tensors").as_array()) {
        std::string_view const name = tensor.at("name").as_string();
        ++groups[std::string(name.substr(0, name.find('/')))];
    }
    std::string counts;
    for (char const* group : {"out", "grad", "grad_in"}) {
        if (!groups.contains(group)) continue;
        counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", groups[group], group);
    }
    return fmt::format("{}: {} in {}, {}\n", std::string_view(value.at("component").as_string()),
                       counts, std::string_view(value.at("out").as_string()),
                       format_seconds(value.at("compute_s").to_number<double>()));
}

Result<std::string> merge_summary(std::string_view text) {
    OSORA_TRY(auto const value, protocol::parse_json(text));
    return fmt::format("{} of {} tensors changed, in {}\n", value.at("changed").to_number<int>(),
                       value.at("tensors").to_number<int>(),
                       std::string_view(value.at("out").as_string()));
}

int run_component(Context const& context, Arguments const& arguments, std::string step) {
    std::vector<std::string> words{"--model", std::move(step)};
    for (std::string const name : {"--case", "--arch", "--weights", "--inputs", "--out"}) {
        auto const value = arguments.value(name);
        if (!value) continue;
        words.push_back(name);
        words.push_back(*value);
    }
    return run_worker_and_print(context, std::move(words), arguments.has("--json"),
                                component_summary);
}

int run_forward(Context const& context, Arguments const& arguments) {
    return run_component(context, arguments, "forward");
}
int run_train_step(Context const& context, Arguments const& arguments) {
    return run_component(context, arguments, "train-step");
}

int run_merge(Context const& context, Arguments const& arguments) {
    std::vector<std::string> words{"--model", "merge"};
    for (std::string const name : {"--weights", "--adapter", "--out"}) {
        auto const value = arguments.value(name);
        if (!value) return fail(kExitUsage, name + " is missing");
        words.push_back(name);
        words.push_back(*value);
    }
    return run_worker_and_print(context, std::move(words), arguments.has("--json"), merge_summary);
}

std::vector<OptionSpec> component_options() {
    return {{.name = "--case",
             .value = "FILE",
             .help = "A safetensors file whose metadata name component and config; tensors are "
                     "weights/KEY and in/NAME, or in/VARIANT/NAME.",
             .complete = Complete::file},
            {.name = "--arch",
             .value = "NAME",
             .help = "In place of --case: a named architecture, with --weights and --inputs."},
            {.name = "--weights",
             .value = "FILE",
             .help = "Its state dict: a safetensors file, an index of shards, or their folder.",
             .complete = Complete::file},
            {.name = "--inputs",
             .value = "FILE",
             .help = "Its inputs: a safetensors file of in/NAME or NAME.",
             .complete = Complete::file},
            {.name = "--out",
             .value = "FILE",
             .help = "Where the results go (safetensors); written whole or not at all.",
             .complete = Complete::file},
            json_option("Print what was written as JSON (osora.model/1).")};
}

}  // namespace

CommandSpec model_forward_command() {
    return {.name = "model forward",
            .summary = "run a network on tensors from a file",
            .details =
                "Gives out/NAME for the inputs of a case. Everything is checked by name, "
                "shape and type before memory is taken; what is wrong is named. Runs in "
                "osora-worker.",
            .example =
                "osora model forward --case case.safetensors --out o.safetensors\n"
                "osora model forward --arch stdit3-tiny --weights DIR --inputs IN --out OUT",
            .positionals = {},
            .options = component_options(),
            .run = run_forward};
}

CommandSpec model_train_step_command() {
    return {.name = "model train-step",
            .summary = "the same with gradients",
            .details =
                "Gives what `osora model forward` gives, and for a network grad/KEY of each "
                "weight and grad_in/NAME of its inputs: gradients of sum(out * "
                "in/loss_weight).",
            .example = "osora model train-step --case case.safetensors --out o.safetensors",
            .positionals = {},
            .options = component_options(),
            .run = run_train_step};
}

CommandSpec model_merge_command() {
    return {.name = "model merge",
            .summary = "weights with a LoRA adapter added in",
            .details =
                "Adds lora_alpha / r times lora_B lora_A to the weights that an adapter belongs "
                "to, in fp32, and writes all weights in their own types. Adapters come from "
                "checkpoints of runs with optim.lora_rank, or from Hugging Face's peft.",
            .example =
                "osora model merge --weights base.safetensors \\\n"
                "    --adapter RUN/checkpoints/step-00001000 --out merged.safetensors",
            .positionals = {},
            .options = {{.name = "--weights",
                         .value = "FILE",
                         .help = "What the adapter was trained on: a safetensors file, an index of "
                                 "shards, or their folder.",
                         .complete = Complete::file},
                        {.name = "--adapter",
                         .value = "DIR",
                         .help = "A folder with adapter_model.safetensors and adapter_config.json, "
                                 "or a file of peft, diffusers, kohya or ComfyUI.",
                         .complete = Complete::file},
                        {.name = "--out",
                         .value = "FILE",
                         .help = "A new file; written whole or not at all.",
                         .complete = Complete::file},
                        json_option("Print what was done as JSON (osora.model_merge/1).")},
            .run = run_merge};
}

}  // namespace osora::cli
