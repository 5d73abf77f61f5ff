// Logs of trainers as people have posted them (tests/data/steps): each figure is the one that a
// person reads.
#include "base/files/files.hpp"
#include "steps_kit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<StepFigures> steps_of(std::string const& log) {
    auto const text = read_file(std::string(OSORA_STEP_LOGS) + "/" + log + ".log");
    if (text.has_error()) ADD_FAILURE() << text.error().message;
    return text.has_error() ? std::vector<StepFigures>{} : steps_in(*text);
}

TEST(StepLog, OfDeepSpeedsEngine) {
    EXPECT_THAT(words(steps_of("deepspeed_engine")), ElementsAre("40", "50", "60"));
}

TEST(StepLog, OfDiffusersHasCountsAndNoPercentages) {
    EXPECT_THAT(
        words(steps_of("diffusers_dreambooth")),
        ElementsAre("446 2.23s loss 0.118", "447 2.23s loss 0.0612", "448 2.23s loss 0.253",
                    "449 2.23s loss 0.402", "450 2.23s loss 0.0187", "451 2.23s loss 0.0941"));
}

TEST(StepLog, OfTransformersFindsWhoseLossItIs) {
    EXPECT_THAT(words(steps_of("hf_trainer")), ElementsAre("1997 3.33s", "1998 3.33s", "1999 3.33s",
                                                           "2000 3.33s loss 6.2645", "2001 3.33s"));
}

TEST(StepLog, OfLightning) {
    EXPECT_THAT(words(steps_of("lightning_loss")),
                ElementsAre("4 4.47s loss 10.072", "5 4.47s loss 9.874", "6 4.47s loss 9.613"));
}

TEST(StepLog, OfMusubiHasEachStepOnce) {
    EXPECT_THAT(
        words(steps_of("musubi_wan_lora")),
        ElementsAre("73 21.29s loss 0.0886", "74 21.54s loss 0.0871", "75 21.46s loss 0.0849",
                    "76 21.44s loss 0.0827", "77 21.68s loss 0.0781", "78 21.65s loss 0.0744"));
}

TEST(StepLog, OfModdedNanoGptHasNoTimesSinceTheStart) {
    EXPECT_THAT(words(steps_of("parameter_golf")),
                ElementsAre("5050 0.04349s loss 2.0232", "5100 0.04349s loss 2.1995",
                            "5150 0.0435s loss 2.0709", "5200 0.0435s loss 2.0972",
                            "5250 0.04349s loss 2.1395", "5300 0.04349s loss 2.0947",
                            "5350 0.0435s loss 2.0819", "5400 0.0435s loss 2.2099"));
}

TEST(StepLog, OfTorchtitanInColour) {
    EXPECT_THAT(words(steps_of("torchtitan_colour")),
                ElementsAre("200 loss 6.1384", "210 loss 6.0388", "220 loss 6.0348",
                            "230 loss 5.967", "240 loss 5.8311", "250 loss 5.8383"));
}

TEST(StepLog, ABarIsDrawnWithTheLossOfTheStepBeforeFirst) {
    EXPECT_THAT(words(steps_in("Steps:  1%|#  | 1/90 [00:02<03:18,  2.2s/it]\r"
                               "Steps:  1%|#  | 1/90 [00:02<03:18,  2.2s/it, loss=0.5]\r"
                               "Steps:  2%|#  | 2/90 [00:04<03:16,  2.2s/it, loss=0.5]\r"
                               "Steps:  2%|#  | 2/90 [00:04<03:16,  2.2s/it, loss=0.4]\r")),
                ElementsAre("1 2.2s loss 0.5", "2 2.2s loss 0.4"));
}

TEST(StepLog, OfTransformersWithoutARecordHasNone) {
    EXPECT_THAT(steps_in("  8%|#  | 1997/24128 [1:52:02<20:27:29,  3.33s/it]\r"
                         "  8%|#  | 1998/24128 [1:52:05<20:27:26,  3.33s/it]\r"),
                IsEmpty());
}

TEST(StepLog, BarsInFrontOfTheFirstRecordAreStepsOfThatBarAlone) {
    EXPECT_THAT(
        words(steps_in("100%|##| 5/5 [00:03<00:00,  1.50it/s]\n"      // shards of the model
                       "  1%|   | 90/100 [00:01<00:09,  9.00it/s]\r"  // another one
                       "  1%|   | 1/100 [00:02<03:18,  2.00s/it]\r"
                       "  2%|   | 2/100 [00:04<03:16,  2.00s/it]\r"
                       "{'loss': 0.5, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0}\n"
                       "  2%|   | 2/100 [00:04<03:16,  2.00s/it]\r"
                       "  3%|   | 3/100 [00:06<03:14,  2.00s/it]\r")),
        ElementsAre("1 2s", "2 2s loss 0.5", "3 2s"));
    std::string log;
    for (int i = 1; i <= 500; ++i) log += fmt::format("{}/900 [09:00<09:00,  2.00s/it]\r", i);
    log += "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n";
    auto const steps = steps_in(log);
    ASSERT_EQ(steps.size(), StepFinder::kUnconfirmedMax + 1);
    EXPECT_EQ(words(steps.front()), "300 2s");
    EXPECT_EQ(words(steps.back()), "500 2s loss 0.5");
}

TEST(StepLog, OfAxolotl) {
    EXPECT_THAT(
        words(steps_in(
            " 30%|###  | 258/873 [22:15<43:27,  4.24s/it]\n"
            "\n"
            " 30%|###  | 259/873 [22:19<43:15,  4.22s/it]\n"
            "{'loss': '0.9921', 'grad_norm': '0.41', 'learning_rate': '0.00014', "
            "'memory/max_mem_active(gib)': '25.45', 'memory/device_mem_reserved(gib)': '30.22', "
            "'epoch': '0.89'}\n"
            "[2023-09-17 13:15:13,336] [INFO] [axolotl.utils.dataloader._len_est:264] [PID:11100] "
            "[RANK:0] packing_efficiency_estimate: 0.77 total_num_tokens per device: 26275\n"
            " 30%|###  | 260/873 [22:24<43:01,  4.21s/it]\n"
            "{'loss': '1.0226', 'grad_norm': '0.39', 'learning_rate': '0.00014', 'epoch': "
            "'0.9'}\n")),
        ElementsAre("258 4.24s", "259 4.22s loss 0.9921", "260 4.21s loss 1.0226"));
}

TEST(StepLog, OfDeepSpeedFollowedByATrainersOwnLine) {
    EXPECT_THAT(
        words(steps_in(
            "[2023-07-25 21:03:13,100] [INFO] [logging.py:96:log_dist] [Rank 0] step=34, "
            "skipped=0, "
            "lr=[2.1e-06, 2.1e-06], mom=[[0.9, 0.95], [0.9, 0.95]]\n"
            "[2023-07-25 21:03:13,200] [INFO] [timer.py:215:stop] "
            "epoch=0/micro_step=34/global_step=34, RunningAvgSamplesPerSec=7.86, "
            "CurrSamplesPerSec=8.01, MemAllocated=59.65GB, MaxMemAllocated=63.31GB\n"
            "[2023-07-25 21:03:13,201] [INFO] [logging.py:96:log_dist] [Rank 0] rank=0 time (ms) | "
            "forward: 652.41 | backward: 2164.52 | backward_inner: 2001.89 | step: 1172.13\n"
            " samples/sec: 7.799 | iteration       34/   10000 | elapsed time per iteration (ms): "
            "4103.1 | learning rate: 2.111E-06 | approx flops per GPU: 112.9TFLOPS | lm_loss: "
            "1.118665E+01 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
            "[2023-07-25 21:03:17,037] [INFO] [logging.py:96:log_dist] [Rank 0] step=35, "
            "skipped=0, "
            "lr=[2.2e-06], mom=[[0.9, 0.95]]\n"
            " samples/sec: 7.9 | iteration       35/   10000 | elapsed time per iteration (ms): "
            "4050.0 | lm_loss: 1.1E+01 |\n")),
        ElementsAre("34", "34 4.1031s loss 11.187", "35 4.05s loss 11"))
        << "the first is recognised as reported twice";
}

TEST(StepLog, OfLightningsRichBar) {
    EXPECT_THAT(
        words(steps_in(
            "\x1b[37mEpoch 0/9\x1b[0m \xe2\x94\x81\xe2\x94\x81 0/910 0:00:00 \xe2\x80\xa2 "
            "-:--:-- 0.00it/s v_num: mcyz\r"
            "Epoch 0/9 \xe2\x94\x81 1/910 0:00:01 \xe2\x80\xa2 0:06:21 2.50it/s v_num: mcyz\r"
            "Epoch 0/9 \xe2\x94\x81 1/910 0:00:01 \xe2\x80\xa2 0:06:21 2.50it/s v_num: mcyz "
            "train/loss: 3.98\r"
            "Validation \xe2\x94\x81 3/20 0:00:01 \xe2\x80\xa2 0:00:07 9.00it/s\r"
            "Epoch 0/9 \xe2\x94\x81 910/910 0:06:22 \xe2\x80\xa2 0:00:00 2.40it/s v_num: mcyz "
            "train/loss: 3.5 val/loss: 3.7\n"
            "Epoch 1 ---- 5/-- 0:00:02 \xe2\x80\xa2 -:--:-- 2.50it/s loss: 0.016\n")),
        ElementsAre("1 0.4s loss 3.98", "910 0.41667s loss 3.5", "5 0.4s loss 0.016"));
}

TEST(StepLog, OfTransformersLeavesOutTheBarsOfItsEvaluation) {
    EXPECT_THAT(
        words(steps_in(" 10%|#  | 10/100 [00:10<01:30,  1.00s/it]\r"
                       "{'loss': 0.5, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
                       " 10%|#  | 10/100 [00:10<01:30,  1.00s/it]\r"
                       "  0%|   | 0/25 [00:00<?, ?it/s]\r"
                       " 12%|#  | 3/25 [00:00<00:01, 18.20it/s]\r"
                       "{'eval_loss': 0.7, 'eval_runtime': 3.1, 'epoch': 0.1}\n"
                       " 11%|#  | 11/100 [00:11<01:29,  1.00s/it]\r"
                       "{'train_runtime': 99.0, 'train_loss': 0.4, 'epoch': 1.0}\n")),
        ElementsAre("10 1s loss 0.5", "11 1s"));
}

TEST(StepLog, TheLossOfLateRecordsIsDropped) {
    EXPECT_THAT(words(steps_in(" 20%|#  | 20/100 [00:10<01:30,  1.00s/it]\r"
                               "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
                               "{'loss': 0.4, 'learning_rate': 1e-05, 'epoch': 0.2}\n"
                               " 21%|#  | 21/100 [00:10<01:30,  1.00s/it]\r")),
                ElementsAre("20 1s", "21 1s"));
}

// hiyouga/LlamaFactory pull request 4066: its callback logs what the Trainer prints.
TEST(StepLog, OfLlamaFactoryHasEachRecordTwice) {
    EXPECT_THAT(
        words(steps_in(
            "  1%|   | 10/1000 [00:20<33:00,  2.00s/it]\r"
            "[INFO|callbacks.py:310] 2024-06-05 14:00:00,000 >> {'loss': 1.2000, 'learning_rate': "
            "4.9388e-05, 'epoch': 0.10, 'throughput': 1234.50}\n"
            "{'loss': 1.2, 'grad_norm': 0.5, 'learning_rate': 4.938e-05, 'epoch': 0.1}\n"
            "  1%|   | 11/1000 [00:22<33:00,  2.00s/it]\r"
            "{'loss': 1.1, 'grad_norm': 0.4, 'learning_rate': 4.9e-05, 'epoch': 0.11}\n"
            "[INFO|callbacks.py:310] 2024-06-05 14:00:02,000 >> {'loss': 1.1000, 'learning_rate': "
            "4.9000e-05, 'epoch': 0.11, 'throughput': 1234.50}\n")),
        ElementsAre("10 2s loss 1.2", "11 2s loss 1.1"));
}

TEST(StepLog, OfMsSwift) {
    EXPECT_THAT(words(steps_in(
                    "{'loss': 0.58, 'acc': 0.81, 'grad_norm': 1.2, 'learning_rate': 8e-05, "
                    "'memory(GiB)': 20.1, 'train_speed(iter/s)': 0.04, 'epoch': 0.3, "
                    "'global_step/max_steps': '185/619', 'percentage': '29.89%', 'elapsed_time': "
                    "'1h 15m 45s', 'remaining_time': '2h 57m 0s'}\n"
                    "Train:  30%|##  | 186/619 [1:16:10<2:57:00, 24.5s/it]\n"
                    "{'loss': 0.57, 'train_speed(s/it)': 24.5, 'epoch': 0.3, "
                    "'global_step/max_steps': '190/619'}\n")),
                ElementsAre("185 25s loss 0.58", "190 24.5s loss 0.57"));
}

TEST(StepLog, ATimeThatGrowsIsSinceTheStart) {
    EXPECT_THAT(words(steps_in("step 10 loss 1 time 20.0 s\nstep 20 loss 1 time 40.1 s\n"
                               "step 30 loss 1 time 60.0 s\n")),
                ElementsAre("10 loss 1", "20 loss 1", "30 loss 1"));
    EXPECT_THAT(words(steps_in("step 1 loss 1 time 2.0 s\nstep 2 loss 1 time 1.9 s\n"
                               "step 3 loss 1 time 2.2 s\n")),
                ElementsAre("1 loss 1", "2 1.9s loss 1", "3 2.2s loss 1"));
}

TEST(StepLog, AnEvaluationInBetweenIsNone) {
    EXPECT_THAT(
        words(steps_in("iter 249: loss 2.5, time 310.20ms, mfu 5.12%\n"
                       "step 250: train loss 2.4, val loss 2.45\n"
                       "iter 250: loss 2.4, time 900.00ms, mfu 5.12%\n"
                       "Validation DataLoader 0:  10%|# | 1/10 [00:01<00:09,  1.0s/it, loss=3]\n"
                       "Epoch(val)  [1][ 50/196]    eta: 0:00:02  time: 0.02  data_time: 0.01\n"
                       "Eval step 10: loss 0.5 step time 0.1 s\n"
                       "step:260 val_loss:2.1 train_time:1000ms step_avg:300ms\n"
                       "iter 251: loss 2.3, time 311.00ms\n")),
        ElementsAre("249 0.3102s loss 2.5", "250 0.9s loss 2.4", "251 0.311s loss 2.3"));
}

// A program in a locale with a decimal comma: beast-dev/beast-mcmc 473, opencog/link-grammar 336.
TEST(StepLog, ADecimalCommaIsNoSeparatorOfThousands) {
    EXPECT_THAT(words(steps_in("Step 12 loss 0,2354 time 310,20 ms\n"
                               "Step 13, loss 2,354; 1,25 s/it\n"
                               "Step 1,014 loss 1,234.5 step time 1,200 ms\n"
                               "iter 0,125 loss 3\n")),
                ElementsAre("12 0.3102s loss 0.2354", "13 1.25s loss 2.354",
                            "1014 1.2s loss 1234.5", "0 loss 3"));
}

TEST(StepLog, KerasCountsInItsTrainingOnly) {
    EXPECT_THAT(words(steps_in("Epoch 1/2\n"
                               " 100/1875 [>.....] - ETA: 5s - loss: 0.5 - accuracy: 0.8\r"
                               "1875/1875 [======] - 5s 3ms/step - loss: 0.3 - val_loss: 0.2\n"
                               "313/313 [======] - 1s 2ms/step - loss: 0.2 - accuracy: 0.9\n")),
                ElementsAre("100 loss 0.5", "1875 0.003s loss 0.3"));
}

TEST(PlainLine, ALineThatIsMeantToBeDearCostsLittle) {
    for (std::string const& line :
         {"step loss time " + std::string(1000, '1'), "iter " + std::string(1000, ',') + " loss",
          "1/2 [" + std::string(1000, '1') + "s/it",
          "step 1 loss " + std::string(4000, '.') + "it/s",
          "epoch [" + std::string(500, '[') + " step 1 time/ loss" + std::string(500, 'a'),
          "step 1 " + std::string(1000, '%') + "|" + std::string(1000, '|') +
              " 1/2 [00:00<00:00, 1s/it"}) {
        StepFinder finder;
        for (int i = 0; i < 200; ++i) (void)finder.find(line);  // would take minutes
    }
}

}  // namespace
}  // namespace osora::plan
