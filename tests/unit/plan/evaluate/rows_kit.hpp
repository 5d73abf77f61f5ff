// Rows to start from, and their answers.
#pragma once

#include "plan/evaluate/evaluate.hpp"
#include "plan/evaluate/layout_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace osora::plan {

inline HardwareTable const& hardware() {
    static HardwareTable const table = HardwareTable::built_in();
    return table;
}

/// GPT of `layers` x `hidden` on nodes of 8 A100, 200 Gbit/s each, as Megatron-LM ran in 2021.
inline EvaluateRow gpt_row(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                           std::int64_t nodes) {
    EvaluateRow row;
    row.gpt = GptModel{.layers = layers,
                       .hidden = hidden,
                       .heads = heads,
                       .kv_heads = heads,
                       .ffn_hidden = 4 * hidden,
                       .seq_len = 2048,
                       .vocab = 51200};
    row.hardware = hardware().find("a100-80g-sxm").value();
    row.nodes = nodes;
    row.gpus_per_node = 8;
    row.nic_gbit_per_gpu = 200;
    row.layout.recompute = "full";
    return row;
}

inline boost::json::object answer_of(std::string_view line) {
    return boost::json::parse(evaluate_line(line, hardware())).as_object();
}

inline std::string error_of(std::string_view line) {
    auto const answer = answer_of(line);
    auto const* const error = answer.if_contains("error");
    return error == nullptr ? "" : std::string(error->as_string());
}

/// A contract row of one node; `model` and `layout` are JSON members that win over its own.
inline std::string line_of(std::string const& id, std::string const& gpu = "a100-80g-sxm",
                           std::string const& layout = R"("tp_size":2,"dp_size":4)",
                           std::string const& model = R"("layers":24,"heads":16)") {
    return R"({"id":)" + id + R"(,"model":{"kind":"gpt","hidden":1024,"seq_len":1024,)" +
           R"("vocab":51200,)" + model + R"(},"cluster":{"gpu":")" + gpu +
           R"(","nodes":1,"gpus_per_node":8,"nic_gbit_per_gpu":100},"layout":{"pp_size":1,)" +
           R"("sp_size":1,"zero_stage":0,"micro_batch_size":1,"grad_accum_steps":4,)" +
           R"("recompute":"full","precision":"bf16",)" + layout + "}}";
}

}  // namespace osora::plan
