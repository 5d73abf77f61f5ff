// Lines written in the form of common trainers: each figure is the one that a person reads.
#include "steps_kit.hpp"

#include <gtest/gtest.h>

#include <cctype>

namespace osora::plan {
namespace {

struct Printed {
    char const* who;
    char const* line;
    char const* words;  // "": no step
};
class TrainerLine : public testing::TestWithParam<Printed> {};

TEST_P(TrainerLine, IsReadAsAPersonReadsIt) {
    auto const steps = words(steps_in(GetParam().line));
    EXPECT_EQ(steps.empty() ? "" : steps.front(), GetParam().words);
    EXPECT_LE(steps.size(), 1u);
}

std::string name_of(testing::TestParamInfo<Printed> const& each) {
    std::string name;
    for (char const letter : std::string(each.param.who)) {
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0) name += letter;
    }
    return name;
}

INSTANTIATE_TEST_SUITE_P(
    Llm, TrainerLine,
    testing::Values(
        Printed{"GPT-NeoX",
                "  samples/sec: 30.1 | iteration      100/  320000 | elapsed time per iteration "
                "(ms): 34023.1 | learning rate: 5.0E-05 | approx flops per GPU: 64.9TFLOPS | "
                "lm_loss: 6.5E+00 | loss scale: 4096.0 | number of skipped iterations:   0 |",
                "100 34.023s loss 6.5"},
        Printed{
            "Megatron-LM",
            " [2024-04-06 02:59:36] iteration       43/     100 | consumed samples:         5504 "
            "| elapsed time per iteration (ms): 5444.9 | throughput per GPU (TFLOP/s/GPU): 239.8 "
            "| learning rate: 8.600000E-06 | global batch size:   128 | lm loss: 1.825991E+00 | "
            "load_balancing_loss: 1.019746E+00 | loss scale: 1.0 | grad norm: 1.426 | num zeros: "
            "0.0 | number of skipped iterations:   0 | number of nan iterations:   0 |",
            "43 5.4449s loss 1.826"},
        Printed{
            "Megatron-LM before",
            " iteration      122/  250000 | consumed samples:       124928 | elapsed time per "
            "iteration (ms): 86545.2 | learning rate: 9.150E-06 | global batch size:  1024 | lm "
            "loss: 2.504220E+00 | loss scale: 1.0 | grad norm: 0.231 |",
            "122 86.545s loss 2.5042"},
        Printed{"Megatron-LM with predictions of later tokens",
                " [2025-05-01 10:02:00.123456] iteration      200/    1000 | consumed samples: "
                "51200 | elapsed time per iteration (ms): 1200.0 | global batch size:   256 | lm "
                "loss: 6.1E+00 | mtp_1 loss: 6.9E+00 | loss scale: 1.0 | grad norm: 1.1 |",
                "200 1.2s loss 6.1"},
        Printed{"verl",
                "step:2 - global_seqlen/min:52100 - actor/entropy_loss:0.54 - actor/kl_loss:0.001 "
                "- actor/pg_loss:0.010 - timing_s/gen:41.1 - timing_s/step:72.3",
                "2 72.3s loss 0.01"},
        Printed{"Megatron-LM's evaluation",
                " validation loss at iteration 1000 | lm loss value: 2.504220E+00 | lm loss PPL: "
                "1.2E+01 |",
                ""},
        Printed{"NeMo 1's bar",
                "Epoch 0:   1%|   | 795/77225 [9:07:58<878:01:48, 41.36s/it, loss=3.1, v_num=, "
                "reduced_train_loss=3.090, global_step=794.0, consumed_samples=1.63e+6]",
                "795 41.36s loss 3.1"},
        Printed{"TensorFlow's slim",
                "INFO:tensorflow:global step 3: loss = 67.3308 (16.534 sec/step)",
                "3 16.534s loss 67.331"},
        Printed{"a timer called step",
                "time (ms) | forward: 100.20 | backward: 210.30 | optimizer: 4.12 | step: 30.12",
                ""},
        Printed{"DeepSpeed's timer",
                "[2024-01-01 10:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | "
                "fwd: 1.00 | bwd: 2.00 | bwd_allreduce: 0.00 | step: 30",
                ""},
        Printed{"DeepSpeed's rate",
                "[timer.py:215:stop] epoch=0/micro_step=40/global_step=40, "
                "RunningAvgSamplesPerSec=83.4, CurrSamplesPerSec=83.5, MemAllocated=9.1GB",
                ""},
        Printed{"CogVideo",
                " [2024-08-06 10:11:12] iteration      100/    1000 | elapsed time per iteration "
                "(ms) 1234.5 | learning rate 1.0E-04 | total loss 1.5E-01 | loss 1.4E-01 |speed "
                "3.24 samples/(min*GPU)",
                "100 1.2345s loss 0.14"},
        Printed{"NeMo",
                "Training epoch 0, iteration 120/149 | lr: 3e-05 | consumed_samples: 121 | "
                "global_batch_size: 1 | global_step: 120 | reduced_train_loss: 1.233 | "
                "train_step_timing in s: 0.03146 | val_loss: 4.106",
                "120 0.03146s loss 1.233"},
        Printed{"NeMo's bar",
                "Epoch 0:   1%|#  | 100/10000 [02:03<3:23:00,  1.23s/it, v_num=0, "
                "reduced_train_loss=7.10, global_step=99.0, train_step_timing in s=1.20]",
                "100 1.23s loss 7.1"},
        Printed{
            "Lightning's suffix",
            "Epoch 3:  50%|##  | 9/18 [00:40<00:40, 0.22it/s, v_num=35a4, train_loss_step=0.251, "
            "val_loss=0.300, train_loss_epoch=0.270]",
            "9 4.5455s loss 0.251"},
        Printed{"anemoi",
                "Epoch 0:   0%|   | 5/3000 [00:40<6:40:00,  0.12it/s, v_num=35a4, "
                "train_mse_loss_step=0.0412]",
                "5 8.3333s loss 0.0412"},
        Printed{"Lightning without a loss",
                "Epoch 0:  22%|##  | 4/18 [00:17<01:02,  4.47s/it, v_num=3]", "4 4.47s"},
        Printed{
            "PickScore",
            "Steps:   0%|   | 2/4000 [00:27<13:28:05, 12.13s/it, ep=0, gst=2, gstl=2.29, mem=25.4]"
            "[2023-08-12 11:03:11,754][__main__][INFO] - Sync Gradients happened",
            "2 12.13s"},
        Printed{"Open-Sora",
                "Epoch 0:  10%|#  | 99/1000 [05:00<45:00,  3.00s/it, loss=0.123, step=99, "
                "global_step=99]",
                "99 3s loss 0.123"},
        Printed{"torchtune", "1|185|Loss: 0.5812:  29%|##  | 185/619 [12:30<29:00,  4.05s/it]",
                "185 4.05s loss 0.5812"},
        Printed{"torchtune's lines",
                "Step 12 | loss:1.23 lr:2e-05 tokens_per_second_per_gpu:1000.5", "12 loss 1.23"},
        Printed{"lit-llama", "iter 3: loss 10.9014, time: 1534.21ms, speed: 1000 toks/s/device",
                "3 1.5342s loss 10.901"},
        Printed{"lit-llama's evaluation", "step 100: val loss 2.1000", ""}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Others, TrainerLine,
    testing::Values(
        Printed{"lit-gpt", "iter 100 step 50: loss 3.7451, iter time: 187.97ms (optimizer.step)",
                "100 0.18797s loss 3.7451"},
        Printed{
            "the newer litgpt",
            "Epoch 1 | iter 8 step 2 | loss train: 1.761, val: n/a | iter time: 121.17 ms (step)",
            "8 0.12117s loss 1.761"},
        Printed{
            "torchtitan",
            "[titan] 2025-06-16 22:30:50,322 - root - INFO - step: 10  loss:  6.1384  grad_norm: "
            "1.2  memory: 49.66GiB(52.28%)  tps: 5,856  tflops: 339.16  mfu: 34.29%",
            "10 loss 6.1384"},
        Printed{
            "torchtitan behind its rank",
            "[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - step: 14  loss:  3.24405  "
            "grad_norm:  0.8319  memory:  9.46GiB(64.99%)  tps: 7,282  tflops: 0.52  mfu: 0.17%",
            "14 loss 3.2441"},
        Printed{
            "torchtitan's evaluation",
            "[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - validate step: 100  loss:  "
            "3.24405  memory:  9.46GiB(64.99%)  tps: 7,282",
            ""},
        Printed{"colours as text", "^[[31mstep: 200  ^[[32mloss:  6.1384  ^[[33mmemory: 49.66GiB",
                "200 loss 6.1384"},
        Printed{"MLX",
                "Iter 70: Train loss 2.786, Learning Rate 1.000e-05, It/sec 17.598, Tokens/sec "
                "1728.137, Trained Tokens 6521, Peak mem 1.437 GB",
                "70 0.056825s loss 2.786"},
        Printed{"MLX's evaluation", "Iter 1: Val loss 2.865, Val took 12.300s", ""},
        Printed{"DiT",
                "[2023-01-01 10:00:00] (step=0000100) Train Loss: 0.1523, Train Steps/Sec: 1.25",
                "100 0.8s loss 0.1523"},
        Printed{"MaxText",
                "completed step: 10, seconds: 1.234, TFLOP/s/device: 100.123, Tokens/s/device: "
                "2000.1, total_weights: 65536, loss: 8.123",
                "10 1.234s loss 8.123"},
        Printed{"build-nanogpt",
                "step    12 | loss: 6.512345 | lr 6.0000e-04 | norm: 1.2 | dt: 310.20ms | tok/sec: "
                "1690.01",
                "12 0.3102s loss 6.5123"},
        Printed{
            "llm.c",
            "step   10/1000 | loss 4.120000 (+0.1z)| norm 1.2 (+0.2z)| lr 6.00e-04 | 310.20 ms | "
            "50.1% bf16 MFU | 165000 tok/s",
            "10 0.3102s loss 4.12"},
        Printed{"mmengine",
                "2023/01/01 10:20:31 - mmengine - INFO - Epoch(train)  [2][ 50/196]  lr: 1.0e-01  "
                "eta: 0:01:12  time: 0.1234  data_time: 0.0123  memory: 1000  loss_rpn: 0.4  loss: "
                "1.2345",
                "246 0.1234s loss 1.2345"},
        Printed{"mmengine by iterations",
                "mmengine - INFO - Iter(train) [   50/40000]  lr: 9.9e-03  eta: 6:00:00  time: "
                "0.3215  data_time: 0.0123  memory: 5000  loss: 2.1  decode.loss_ce: 1.5",
                "50 0.3215s loss 2.1"},
        Printed{"mmcv",
                "mmdet - INFO - Epoch [1][50/7330]\tlr: 1.978e-03, eta: 14:39:44, time: 0.601, "
                "data_time: 0.052, memory: 3900, loss_rpn_cls: 0.4, loss: 1.5",
                "50 0.601s loss 1.5"},
        Printed{"detectron2",
                "[07/01 12:00:00 d2.utils.events]:  eta: 1:23:45  iter: 19  total_loss: 2.1  "
                "loss_cls: 0.8  time: 0.2345  last_time: 0.2301  data_time: 0.0123  lr: 0.0001",
                "19 0.2345s loss 2.1"},
        Printed{"torchvision",
                "Epoch: [1]  [  10/1000]  eta: 0:10:00  lr: 0.000100  loss: 2.3000 (2.3500)  time: "
                "0.5000  data: 0.0100  max mem: 2000",
                "1010 0.5s loss 2.3"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    NoSteps, TrainerLine,
    testing::Values(
        Printed{"fairseq",
                "2021-05-05 10:10:10 | INFO | train_inner | epoch 001:    100 / 5000 loss=12.3, "
                "nll_loss=11.9, ppl=3900, wps=30000, ups=8, wpb=3500, bsz=120, num_updates=100, "
                "lr=1.2e-05, gnorm=3.2, clip=0, train_wall=12, wall=20",
                "100 0.125s loss 12.3"},
        Printed{
            "Megatron's validation",
            " validation loss at iteration 100 | lm loss value: 6.5E+00 | lm loss PPL: 6.6E+02 |",
            ""},
        // Lightning-AI/pytorch-lightning 20124: a dataset without a length.
        Printed{"Lightning without a total",
                "Epoch 1: |          | 43/? [00:26<00:00,  1.65it/s, v_num=0, train_loss=0.112]",
                "43 0.60606s loss 0.112"},
        Printed{"a bar of validation without a total",
                "Validation: |          | 43/? [00:26<00:00,  1.65it/s, val_loss=0.112]", ""},
        // ostris/ai-toolkit 818: the label is the name that the user gave.
        Printed{"ai-toolkit",
                "my_first_lora_v1:   1%|    | 19/3000 [05:35<14:36:19, 17.64s/it, lr: 1.0e-04 "
                "loss: 1.038e+00]",
                "19 17.64s loss 1.038"},
        Printed{"ai-toolkit under another name",
                "sample_faces_v2:   1%|    | 19/3000 [05:35<14:36:19, 17.64s/it, lr: 1.0e-04 loss: "
                "1.038e+00]",
                "19 17.64s loss 1.038"},
        Printed{"a bar of epochs with a learning rate",
                "Epochs:  10%|#  | 1/10 [10:00<90:00, 600.0s/it, lr=1e-4, loss=0.3]", ""},
        Printed{"a bar of downloads",
                "Downloading:  12%|#2  | 12/100 [00:03<00:25,  3.4it/s, loss=1]", ""},
        Printed{"a bar of sampling", "Sampling steps:  12%|#2  | 6/50 [00:03<00:25,  3.4it/s]", ""},
        Printed{"a bar of epochs", "Epochs:  10%|#  | 1/10 [10:00<90:00, 600.0s/it, loss=0.3]", ""},
        Printed{"a bar that was cut", "Steps:  12%|#2  | 12/100 [00:03<00:25,  3.4s/it, loss=0.2",
                "12 3.4s"},
        Printed{"settings", "max steps: 1000, total iterations: 50, loss scale: 65536, time 3 ms",
                ""},
        Printed{"a rounded count", "step 12k/100k | loss: 0.5123 | step time: 0.5 s", ""},
        // As "%.3g" writes 1000.
        Printed{"an exponent", "step: 1e+03 loss: 0.5123", ""},
        // mindspore-lab/mindone pull request 311.
        Printed{"mindone",
                "epoch: 1 step: 10, lr: 0.0000100, loss: 0.123456, loss scale: 65536, average step "
                "time: 1.234567.",
                "10 1.2346s loss 0.12346"},
        Printed{"an announcement", "saving checkpoint at step 100 took 3.2 s", ""},
        Printed{"MNIST", "Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.512345", ""}),
    name_of);

}  // namespace
}  // namespace osora::plan
