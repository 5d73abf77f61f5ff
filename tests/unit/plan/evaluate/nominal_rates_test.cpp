// Plans for GPUs by name.
#include "plan/evaluate/nominal_rates.hpp"

#include "plan/model/model_cost.hpp"
#include "plan/step_time.hpp"
#include "tests/unit/plan/evaluate/rows_kit.hpp"

namespace osora::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

GpuNodes nodes_of(std::string const& gpu, int nodes, double nic_gbit = 400) {
    return {.gpu = hardware().find(gpu).value(),
            .nodes = nodes,
            .gpus_per_node = 8,
            .nic_gbit_per_gpu = nic_gbit};
}

PlanRequest plan_request(GpuNodes const& nodes, std::string const& arch = "stdit3-xl/2") {
    PlanRequest request;
    request.config.model.arch = arch;
    request.config.data.latents = "cache";
    request.config.bucket = {{"360p", 51, 1.0, {}}};
    request.latents = model_shape(arch).value().vae;
    plan_for_gpus(nodes, 0, request);
    return request;
}

PlanDecision decision_of(PlanRequest const& request) {
    auto decision = make_plan(request);
    EXPECT_TRUE(decision.has_value()) << (decision ? "" : decision.error().message);
    return decision ? *decision : PlanDecision{};
}

TEST(NominalRates, AreThoseOfTheGpuAndCheckOut) {
    for (Hardware const& gpu : hardware().all()) {
        Calibration const c = nominal_rates({.gpu = gpu, .gpus_per_node = 8}, "bf16");
        EXPECT_TRUE(check_calibration(c).has_value()) << gpu.name;
        EXPECT_FALSE(c.measured);
        double const large = c.matmul.back().gflops / 1e3;
        EXPECT_LT(large, gpu.bf16_tflops) << gpu.name;
        EXPECT_GT(large, 0.5 * gpu.sustained_share * gpu.bf16_tflops) << gpu.name;
    }
}

/// Time that a pipeline's stages on two nodes of H100 wait for each other.
double stages_wait_s(double nic_gbit, int ranks_per_node = 8) {
    Calibration const c = nominal_rates(nodes_of("h100", 2, nic_gbit), "bf16");
    GroupNetwork const network(*nominal_network(nodes_of("h100", 2, nic_gbit)), {16, 2});
    StepQuery query{.shape = model_shape("mmdit-11b").value(), .bucket = {360, 640, 51}};
    query.grad_accum_steps = 4;
    query.tp_size = 8;
    query.pp_size = 2;
    query.ranks_per_node = ranks_per_node;
    query.precision = "bf16";
    query.network = &network;
    query.gpu = true;
    return step_time(query, c).bubble_s;
}

// A message of the tokens to the next stage and one back, over one card a rank at 0.8 of its rate,
// for every second of four micro-batches.
TEST(NominalRates, StagesOnOtherNodesExchangeOverTheirCards) {
    double const tokens =
        static_cast<double>(
            sample_cost(model_shape("mmdit-11b").value(), {360, 640, 51}).tokens()) +
        512;
    double const bytes = tokens * 3072 * 2 / 8;
    double const slower_s = 2 * 2 * bytes * (1 / (0.8 * 25e9 / 8) - 1 / (0.8 * 200e9 / 8));
    EXPECT_NEAR(stages_wait_s(25) - stages_wait_s(200), slower_s, 0.1 * slower_s);
    // Stages within a node do not use them.
    EXPECT_EQ(stages_wait_s(25, 16), stages_wait_s(200, 16));
}

/// Forward and backward of four samples of 51 frames, in bf16.
StepQuery four_samples(std::string const& arch, std::string const& resolution) {
    ModelShape shape = model_shape(arch).value();
    BucketKey const key =
        nominal_key({.resolution = resolution, .num_frames = 51}, shape.pixel_multiple()).value();
    return {.shape = std::move(shape),
            .bucket = key,
            .micro_batch_size = 4,
            .precision = "bf16",
            .gpu = true};
}

// Its constants are those of published runs of PyTorch.
TEST(NominalRates, WithoutOsorasKernelsAPassTakesAboutWhatEvaluateSays) {
    for (char const* gpu : {"a100", "h100", "h200"}) {
        for (char const* arch : {"stdit2-xl/2", "stdit3-xl/2", "mmdit-11b"}) {
            for (char const* resolution : {"144p", "360p", "720p"}) {
                StepQuery query = four_samples(arch, resolution);
                query.fused_kernels = false;
                EvaluateRow row;
                row.hardware = hardware().find(gpu).value();
                row.layout.zero_stage = 2;
                row.layout.micro_batch_size = 4;
                row.arch = ArchModel{.shape = query.shape, .bucket = query.bucket};
                StepParts const parts = predict(row).parts;
                Calibration const c = nominal_rates(nodes_of(gpu, 1), "bf16");
                double const ratio = pass_time_s(query, c) / (parts.compute_s + parts.launch_s);
                EXPECT_GT(ratio, 0.7) << gpu << " " << arch << " " << resolution;
                EXPECT_LT(ratio, 1.25) << gpu << " " << arch << " " << resolution;
                query.fused_kernels = true;
                EXPECT_LT(pass_time_s(query, c), 0.97 * ratio * (parts.compute_s + parts.launch_s));
            }
        }
    }
}

// Steps with osora's kernels on an H200, 2026-11-27 (docs/rfc/034).
TEST(NominalRates, StepsOfAnH200AreLongerByAThirdAtMost) {
    Calibration const c = nominal_rates(nodes_of("h200", 1), "bf16");
    for (auto const& [resolution, measured_s] :
         {std::pair("144p", 0.034), std::pair("240p", 0.072), std::pair("360p", 0.151),
          std::pair("480p", 0.265), std::pair("720p", 0.689)}) {
        StepQuery query = four_samples("stdit3-xl/2", resolution);
        query.shape.depth = 4;
        query.shape.text_tokens = 200;
        double const ratio = step_time(query, c).total_s() / measured_s;
        EXPECT_GT(ratio, 0.9) << resolution;
        EXPECT_LT(ratio, 1.33) << resolution;
    }
}

TEST(NominalRates, FasterGpusAndCardsPlanFasterSteps) {
    auto const a100 = decision_of(plan_request(nodes_of("a100", 4)));
    auto const h100 = decision_of(plan_request(nodes_of("h100", 4)));
    EXPECT_GT(h100.predicted.samples_per_s, 1.5 * a100.predicted.samples_per_s);
    PlanRequest slow = plan_request(nodes_of("h100", 4, 25));
    slow.global_batch_size = h100.chosen.buckets.front().global_batch_size;
    EXPECT_LT(decision_of(slow).predicted.samples_per_s, h100.predicted.samples_per_s);
}

TEST(NominalRates, MemoryIsThatOfTheGpu) {
    PlanRequest const big = plan_request(nodes_of("h200", 1));
    EXPECT_DOUBLE_EQ(big.config.memory.gpu_memory_gib, 140.4);
    PlanRequest small = plan_request(nodes_of("rtx4090", 1), "mmdit-11b");
    small.config.parallel.tp_size.value = small.config.parallel.sp_size.value = 1;
    small.config.parallel.zero_stage.value = 0;
    auto const refused = make_plan(small);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Errc::out_of_memory);
    EXPECT_THAT(refused.error().message, HasSubstr("bucket 360p x 51: micro-batch 1 needs "));
    EXPECT_THAT(refused.error().message, HasSubstr("; it would fit with "));
}

TEST(NominalRates, AMemoryThatTheUserGivesStays) {
    PlanRequest request;
    request.config.memory.gpu_memory_gib = 20;
    request.origins["memory.gpu_memory_gib"] = {};
    plan_for_gpus(nodes_of("h100", 1), std::int64_t{80} << 30, request);
    EXPECT_EQ(request.config.memory.gpu_memory_gib, 20);
    EXPECT_EQ(request.cluster.nodes.front().gpus.front().memory_bytes, std::int64_t{20} << 30);
}

TEST(NominalRates, AGpuWithoutBf16IsPlannedInFp16) {
    EXPECT_EQ(decision_of(plan_request(nodes_of("v100", 1))).chosen.precision, "fp16");
    PlanRequest request;
    request.origins["optim.precision"] = {};
    plan_for_gpus(nodes_of("v100", 1), 0, request);
    EXPECT_EQ(request.config.optim.precision, "bf16");
    plan_for_gpus(nodes_of("a100", 1), 0, request);
    EXPECT_EQ(request.config.optim.precision, "bf16");
}

/// A request on a machine with one such GPU, which nobody named.
PlanRequest own_request(std::string const& driver_name, std::int64_t memory_bytes = 0) {
    PlanRequest request;
    request.config.model.arch = "stdit3-xl/2";
    request.config.data.latents = "cache";
    request.config.bucket = {{"360p", 51, 1.0, {}}};
    request.latents = model_shape("stdit3-xl/2").value().vae;
    request.cluster.nodes = {{"box", 16, std::int64_t{126} << 30, {{driver_name, memory_bytes}}}};
    request.calibration = nominal_gpu();
    plan_for_own_gpus(hardware(), request);
    return request;
}

TEST(OwnGpus, HaveTheRatesOfTheirDataSheet) {
    auto const own = decision_of(own_request("NVIDIA H200"));
    PlanRequest named = own_request("unknown");
    plan_for_gpus({.gpu = hardware().find("h200").value()}, 0, named);
    EXPECT_EQ(own.predicted.step_time_s, decision_of(named).predicted.step_time_s);
    EXPECT_THAT(own.reasons, Contains("expected times are from the data sheet of NVIDIA H200, not "
                                      "measured: run osora plan calibrate"));
    PlanRequest measured = own_request("unknown");
    measured.calibration.measured = true;
    measured.cluster.nodes.front().gpus = {{"NVIDIA H200", 0}};
    plan_for_own_gpus(hardware(), measured);
    EXPECT_EQ(measured.calibration.processor, nominal_gpu().processor);
    EXPECT_DOUBLE_EQ(measured.config.memory.gpu_memory_gib, 140.4);
    EXPECT_THAT(decision_of(measured).reasons,
                AllOf(Not(Contains(HasSubstr("data sheet"))), Not(Contains(HasSubstr("bf16")))));
    measured.config.optim.precision = "fp32";
    EXPECT_THAT(decision_of(measured).reasons, Contains(HasSubstr("in bf16: fp32 takes longer")));
}

TEST(OwnGpus, MemoryIsTheUsersElseTheDriversElseTheDataSheets) {
    auto const memory = [](PlanRequest const& request) {
        EXPECT_EQ(request.cluster.nodes.front().gpus.front().memory_bytes >> 30,
                  static_cast<std::int64_t>(request.config.memory.gpu_memory_gib));
        return request.config.memory.gpu_memory_gib;
    };
    EXPECT_DOUBLE_EQ(memory(own_request("NVIDIA H200")), 140.4);
    EXPECT_EQ(memory(own_request("NVIDIA H200", std::int64_t{139} << 30)), 139);
    EXPECT_EQ(memory(own_request("NVIDIA Z900", std::int64_t{200} << 30)), 200);
    PlanRequest given = own_request("NVIDIA H200", std::int64_t{139} << 30);
    given.origins["memory.gpu_memory_gib"] = {};
    given.config.memory.gpu_memory_gib = 20;
    plan_for_own_gpus(hardware(), given);
    EXPECT_EQ(memory(given), 20);
}

TEST(OwnGpus, OfAnUnknownNameStayNominalAndThePlanSaysSo) {
    PlanRequest const request = own_request("NVIDIA Z900");
    EXPECT_EQ(request.config.memory.gpu_memory_gib, 80);
    EXPECT_THAT(decision_of(request).reasons,
                AllOf(Contains("a GPU's memory is not known, 80 GiB are assumed: "
                               "memory.gpu_memory_gib says it"),
                      Contains("expected times are nominal, not measured: run osora plan "
                               "calibrate")));
    PlanRequest none = own_request("cpu");
    EXPECT_EQ(none.nominal_gpu, "");
    none.cluster.nodes.front().gpus.clear();
    plan_for_own_gpus(hardware(), none);
    EXPECT_THAT(decision_of(none).reasons, Not(Contains(HasSubstr("a GPU's memory"))));
}

TEST(OwnGpus, OnOtherNodesToo) {
    PlanRequest request = own_request("unknown");
    request.config.resources.backend = "slurm";
    request.config.resources.nodes = 2;
    request.config.resources.gpus_per_node = 8;
    request.cluster.nodes.front().gpus.assign(8, {"NVIDIA H100 80GB HBM3", 0});
    plan_for_own_gpus(hardware(), request);
    auto const reasons = decision_of(request).reasons;
    EXPECT_THAT(reasons, Contains(HasSubstr("data sheet of NVIDIA H100 80GB HBM3")));
    EXPECT_THAT(reasons, Contains(HasSubstr("the network is not measured")));
}

TEST(NominalRates, ThePlanSaysWhatIsNominal) {
    auto const known = decision_of(plan_request(nodes_of("h100", 4))).reasons;
    EXPECT_THAT(known, Contains(HasSubstr("nominal, of the data sheet of h100-80g-sxm")));
    EXPECT_THAT(known, Contains(HasSubstr("nominal, over cards of 400 Gbit/s a GPU")));
    auto const unknown = decision_of(plan_request(nodes_of("h100", 4, 0))).reasons;
    EXPECT_THAT(unknown, Contains(HasSubstr("--nic-gbit gives")));
    auto const one = decision_of(plan_request(nodes_of("h100", 1))).reasons;
    EXPECT_THAT(one, Not(Contains(HasSubstr("network"))));
}

// Over slow cards ZeRO-3 without recomputation waits for weights; what fits at a lower stage by
// recomputing more is faster.
TEST(NominalRates, APlanIsAsFastAsAnyThatRecomputesMoreAndSharesLess) {
    for (double const nic_gbit : {10.0, 25.0, 400.0}) {
        PlanRequest request = plan_request(nodes_of("h100", 8, nic_gbit), "mmdit-11b");
        request.config.batch.global_batch_size = 64;
        request.config.parallel.pp_size = request.config.parallel.tp_size = 1;
        request.config.parallel.sp_size = 1;
        auto const chosen = decision_of(request);
        double const rate = chosen.predicted.samples_per_s;
        bool const slow = nic_gbit < 100;
        EXPECT_EQ(std::ranges::count(chosen.reasons,
                                     "recompute full, activation store none: less would need a "
                                     "higher ZeRO stage, whose collectives take longer"),
                  slow ? 1 : 0);
        for (int const stage : {1, 2, 3})
            for (char const* recompute : {"none", "selective", "full"}) {
                request.config.parallel.zero_stage = stage;
                request.config.memory.recompute = std::string(recompute);
                auto const forced = make_plan(request);
                if (!forced) continue;
                EXPECT_GE(rate, 0.96 * forced->predicted.samples_per_s)
                    << nic_gbit << " Gbit/s, ZeRO-" << stage << ", " << recompute;
            }
    }
}

// Messages within a node take no time beside a pass.
TEST(NominalRates, StagesOfANodeKeepTheOrderThatTakesLessMemory) {
    PlanRequest request = plan_request(nodes_of("h100", 1));
    request.config.parallel.pp_size = 2;
    request.config.batch.global_batch_size = 64;
    EXPECT_EQ(decision_of(request).chosen.pp_schedule, "1f1b");
}

// 173 samples a rank could only be trained one by one.
TEST(NominalRates, BatchesOfOtherBucketsCanBeDivided) {
    PlanRequest request = plan_request(nodes_of("h100", 2), "mmdit-11b");
    request.config.bucket = {{"480p", 102, 1.0, {}}, {"256", 1, 1.0, {}}};
    auto const buckets = decision_of(request).chosen.buckets;
    EXPECT_GT(buckets[1].micro_batch_size, 1);
    EXPECT_LT(buckets[1].step_time_s, 1.3 * buckets[0].step_time_s);
    double const cost = buckets[1].global_batch_size * buckets[1].gflop_per_sample /
                        (buckets[0].global_batch_size * buckets[0].gflop_per_sample);
    EXPECT_NEAR(cost, 1, 0.05);
}

// On an H200 the int8 store takes 3.2 times as long as a step without (docs/rfc/034).
TEST(NominalRates, AGpuRecomputesBeforeItRounds) {
    PlanRequest request = plan_request(nodes_of("h100", 1));
    request.config.bucket = {{"720p", 51, 1.0, {}}};
    request.config.parallel.sp_size = request.config.parallel.tp_size = 1;
    auto const exact = decision_of(request).chosen;
    request.config.memory.allow_lossy = true;
    auto const lossy = decision_of(request).chosen;
    EXPECT_EQ(lossy.activation_store, "none");
    EXPECT_EQ(lossy.recompute, exact.recompute);
}

// What the GPU does not hold, the host does.
TEST(NominalRates, OffloadedActivationsAreInHostMemory) {
    PlanRequest request = plan_request(nodes_of("h200", 1));
    request.config.parallel.sp_size = request.config.parallel.tp_size = 1;
    request.config.memory.recompute = std::string("none");
    request.config.bucket[0].micro_batch_size = 1;
    request.config.batch.global_batch_size = 8;
    auto const with = [&](char const* store) {
        request.config.memory.activation_store = std::string(store);
        return decision_of(request);
    };
    request.config.memory.allow_lossy = true;  // in bf16 its store is exact
    auto const kept = with("bf16"), moved = with("offload");
    double const less_gib = kept.predicted.peak_memory_gib - moved.predicted.peak_memory_gib;
    EXPECT_GT(less_gib, 5);
    EXPECT_NEAR(moved.predicted.host_memory_gib - kept.predicted.host_memory_gib, 8 * less_gib,
                0.1 * 8 * less_gib);
    EXPECT_THAT(moved.reasons, Contains(HasSubstr("wait in host memory")));
    request.cluster.nodes.front().memory_bytes = std::int64_t{32} << 30;
    EXPECT_THAT(make_plan(request).error().message,
                HasSubstr("activation_store \"offload\" keeps"));
}

}  // namespace
}  // namespace osora::plan
