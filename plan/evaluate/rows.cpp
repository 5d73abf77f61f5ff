// Parses a row from JSON.
#include "plan/evaluate/rows.hpp"

#include "base/text/nearest.hpp"
#include "plan/evaluate/layout_rules.hpp"
#include "plan/evaluate/row_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

namespace osora::plan {
namespace {

namespace json = boost::json;
using namespace std::string_view_literals;

constexpr std::int64_t kRanksMax = 1'000'000;
constexpr std::int64_t kWidthMax = 1 << 20;
constexpr std::int64_t kTokensMax = std::int64_t{1} << 26;

Result<GptModel> read_gpt(RowReader& reader) {
    GptModel model;
    model.layers = reader.whole("layers", 1, 100'000);
    model.hidden = reader.whole("hidden", 1, kWidthMax);
    model.heads = reader.whole("heads", 1, 65'536);
    model.kv_heads = reader.whole_or("kv_heads", 1, 65'536, model.heads);
    bool const own_width = reader.has("ffn_hidden");
    model.ffn_hidden = reader.whole_or("ffn_hidden", 1, 16 * kWidthMax, 4 * model.hidden);
    // Most models with grouped heads are gated, also with 4 hidden (Llama 3.2 1B).
    bool const grouped = model.kv_heads > 1 && model.kv_heads < model.heads;
    model.gated =
        reader.flag_or("gated", own_width && (grouped || model.ffn_hidden != 4 * model.hidden));
    model.seq_len = reader.whole("seq_len", 1, kTokensMax);
    model.vocab = reader.whole("vocab", 1, 1 << 26);
    OSORA_TRY_VOID(reader.result());
    return model;
}

Result<ArchModel> read_arch(RowReader& reader) {
    std::string const name = reader.text("name");
    std::string const resolution = reader.text("resolution");
    auto const frames = static_cast<int>(reader.whole("num_frames", 1, 100'000));
    bool const encoders = reader.flag("encoders");
    OSORA_TRY_VOID(reader.result());
    auto shape = model_shape(name);
    if (shape.has_error()) {
        reader.refuse("name", shape.error().message);
        return reader.result().error();
    }
    shape->text_tokens =
        static_cast<int>(reader.whole_or("text_tokens", 1, 100'000, shape->text_tokens));
    auto const bucket = bucket_of(resolution, frames, shape->pixel_multiple());
    if (bucket.has_error()) reader.refuse("resolution", bucket.error().message);
    OSORA_TRY_VOID(reader.result());
    return ArchModel{std::move(*shape), *bucket, encoders};
}

void note_unread(RowReader const& reader, EvaluateRow& into) {
    std::ranges::move(reader.unread(), std::back_inserter(into.ignored));
}

Result<void> read_model(json::object const& from, EvaluateRow& into) {
    static constexpr std::array kKinds{"gpt"sv, "arch"sv};
    RowReader reader(from, "model");
    std::string const kind = reader.choice("kind", kKinds);
    OSORA_TRY_VOID(reader.result());
    if (kind == "gpt") {
        OSORA_TRY(into.gpt, read_gpt(reader));
    } else {
        OSORA_TRY(into.arch, read_arch(reader));
    }
    note_unread(reader, into);
    return {};
}

Result<void> read_calibration(json::object const& from, EvaluateRow& into) {
    RowReader reader(from, "cluster.calibration");
    for (ConstantRow const& row : constant_rows()) {
        if (!reader.has(row.name)) continue;
        into.constants.*row.member = reader.real(row.name, row.min, row.max);
    }
    (void)reader.has("measured");  // read_measured() reads it
    note_unread(reader, into);
    return reader.result();
}

Result<void> read_cluster(json::object const& from, HardwareTable const& hardware,
                          EvaluateRow& into) {
    RowReader reader(from, "cluster");
    std::string const gpu = reader.text("gpu");
    into.nodes = reader.whole("nodes", 1, kRanksMax);
    into.gpus_per_node = reader.whole("gpus_per_node", 1, 1024);
    // Within one node no NIC is used.
    if (into.nodes > 1 || reader.has("nic_gbit_per_gpu")) {
        into.nic_gbit_per_gpu = reader.real("nic_gbit_per_gpu", into.nodes > 1 ? 1e-3 : 0, 1e6);
    }
    auto const calibration = reader.object("calibration", false);
    OSORA_TRY_VOID(reader.result());
    auto found = hardware.find(gpu);
    if (found.has_error()) {
        reader.refuse("gpu", found.error().message);
        return reader.result();
    }
    into.hardware = std::move(*found);
    note_unread(reader, into);
    return read_calibration(calibration, into);
}

/// none | selective | full | a number of blocks, as a number or as text.
std::string read_recompute(RowReader& reader) {
    auto const* const value = reader.find("recompute");
    constexpr std::int64_t kBlocksMax = 100'000;
    if (value != nullptr && value->is_number()) {
        std::int64_t const blocks = reader.whole("recompute", 0, kBlocksMax);
        return blocks == 0 ? "none" : fmt::format("{}", blocks);
    }
    std::string const text = reader.text("recompute");
    std::int64_t blocks = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), blocks);
    bool const number = !text.empty() && error == std::errc{} && end == text.data() + text.size() &&
                        blocks >= 0 && blocks <= kBlocksMax;
    if (number) return blocks == 0 ? "none" : fmt::format("{}", blocks);
    static constexpr std::array kChoices{"none"sv, "selective"sv, "full"sv};
    return reader.choice("recompute", kChoices);
}

Result<void> read_layout(json::object const& from, EvaluateRow& row) {
    static constexpr std::array kPrecisions{"bf16"sv, "fp16"sv, "fp8"sv, "fp32"sv};
    static constexpr std::array kStores{"none"sv, "bf16"sv, "int8"sv, "offload"sv};
    RowReader reader(from, "layout");
    RowLayout& into = row.layout;
    into.tp_size = reader.whole("tp_size", 1, kRanksMax);
    into.pp_size = reader.whole("pp_size", 1, kRanksMax);
    into.sp_size = reader.whole("sp_size", 1, kRanksMax);
    into.dp_size = reader.whole("dp_size", 1, kRanksMax);
    into.zero_stage = static_cast<int>(reader.whole("zero_stage", 0, 3));
    into.micro_batch_size = reader.whole("micro_batch_size", 1, 1'000'000);
    into.grad_accum_steps = reader.whole("grad_accum_steps", 1, 1'000'000);
    into.virtual_stages = reader.whole_or("virtual_stages", 1, 100'000, 1);
    into.recompute = read_recompute(reader);
    into.sequence_parallel = reader.flag_or("sequence_parallel", false);
    into.precision = reader.choice("precision", kPrecisions);
    into.lora_rank = static_cast<int>(reader.whole_or("lora_rank", 0, 65'536, 0));
    if (reader.has("activation_store")) {
        into.activation_store = reader.choice("activation_store", kStores);
    }
    note_unread(reader, row);
    return reader.result();
}

}  // namespace

std::int64_t EvaluateRow::linked_gpus() const {
    auto const domain = static_cast<std::int64_t>(hardware.domain_gpus);
    if (domain <= gpus_per_node) return gpus_per_node;
    std::int64_t const domains = (world_size() + domain - 1) / domain;
    return std::max(gpus_per_node, (world_size() + domains - 1) / domains);
}

Result<BucketKey> bucket_of(std::string_view resolution, int num_frames, int multiple) {
    std::string_view name = resolution.substr(0, 32);
    if (name.ends_with("px")) name.remove_suffix(2);
    if (auto const cross = name.find_first_of("xX"); cross != std::string_view::npos) {
        int sides[2] = {0, 0};
        std::string_view const texts[2] = {name.substr(0, cross), name.substr(cross + 1)};
        for (int i = 0; i < 2; ++i) {
            auto const* const stop = texts[i].data() + texts[i].size();
            auto const [end, error] = std::from_chars(texts[i].data(), stop, sides[i]);
            if (error != std::errc{} || end != stop || sides[i] < multiple || sides[i] > 8192) {
                return Error{
                    Errc::invalid_input,
                    fmt::format("{} is not HEIGHTxWIDTH, each {} to 8192", name, multiple)};
            }
            sides[i] = std::max(1, (sides[i] + multiple / 2) / multiple) * multiple;
        }
        return BucketKey{sides[0], sides[1], num_frames};
    }
    return nominal_key({.resolution = std::string(name), .num_frames = num_frames}, multiple);
}

namespace {

Result<MeasuredRun> read_run(json::object const& from, EvaluateRow const& row) {
    RowReader reader(from, "");
    auto const model = reader.object("model", true);
    auto const layout = reader.object("layout", true);
    MeasuredRun run;
    run.row.hardware = row.hardware;
    run.row.constants = row.constants;
    run.row.nic_gbit_per_gpu = row.nic_gbit_per_gpu;
    run.row.nodes = reader.whole("nodes", 1, kRanksMax);
    run.row.gpus_per_node = reader.whole("gpus_per_node", 1, 1024);
    run.step_time_s = reader.real("step_time_s", 1e-6, 1e9);
    if (reader.has("peak_memory_gib")) {
        run.peak_memory_gib = reader.real("peak_memory_gib", 1e-3, 1e6);
    }
    OSORA_TRY_VOID(reader.result());
    OSORA_TRY_VOID(read_model(model, run.row));
    OSORA_TRY_VOID(read_layout(layout, run.row));
    return run;
}

/// A run that no valid layout describes corrects nothing; the answer says so.
void take_run(MeasuredRun run, std::string const& where, EvaluateRow& row) {
    auto const broken = row_violations(run.row);
    bool const offline = run.row.nodes > 1 && run.row.nic_gbit_per_gpu <= 0;
    if (broken.empty() && !offline) {
        row.measured.push_back(std::move(run));
        return;
    }
    row.left_out.push_back(
        offline ? fmt::format("{}: nodes is above 1 and cluster.nic_gbit_per_gpu is missing", where)
                : fmt::format("{}: {}: {}", where, broken.front().key, broken.front().message()));
}

Result<void> read_measured(json::object const& calibration, EvaluateRow& row) {
    constexpr std::size_t kRunsMax = 256;
    auto const* const value = calibration.if_contains("measured");
    if (value == nullptr || value->is_null()) return {};
    auto const* const runs = value->if_array();
    if (runs == nullptr || runs->size() > kRunsMax) {
        return invalid(fmt::format(
            "cluster.calibration.measured: must be a list of at most {} runs", kRunsMax));
    }
    for (std::size_t i = 0; i < runs->size(); ++i) {
        std::string const where = fmt::format("cluster.calibration.measured[{}]", i);
        auto const* const object = (*runs)[i].if_object();
        if (object == nullptr) return invalid(where + ": must be an object");
        auto run = read_run(*object, row);
        if (run.has_error()) return invalid(fmt::format("{}.{}", where, run.error().message));
        for (auto const& each : run->row.ignored) row.ignored.push_back(where + "." + each);
        take_run(std::move(*run), where, row);
    }
    return {};
}

}  // namespace

Result<EvaluateRow> read_row(json::object const& from, HardwareTable const& hardware) {
    RowReader reader(from, "");
    auto const model = reader.object("model", true);
    auto const cluster = reader.object("cluster", true);
    auto const layout = reader.object("layout", true);
    OSORA_TRY_VOID(reader.result());
    EvaluateRow row;
    OSORA_TRY_VOID(read_model(model, row));
    OSORA_TRY_VOID(read_cluster(cluster, hardware, row));
    OSORA_TRY_VOID(read_layout(layout, row));
    if (auto const* calibration = cluster.if_contains("calibration")) {
        if (calibration->is_object()) {
            OSORA_TRY_VOID(read_measured(calibration->get_object(), row));
        }
    }
    return row;
}

}  // namespace osora::plan
