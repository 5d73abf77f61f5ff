// The reason of a failed program, in outputs written in the form of public reports: each is the one
// that a person reads.
#include "daemon/agent/last_line.hpp"

#include "base/text/text.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace osora::daemon {
namespace {

constexpr char const* kOutOfMemory =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.44 GiB.";

// facebookresearch/hydra prints this hint after every exception: Deci-AI/super-gradients 699.
TEST(FailureLine, IsNotAHintOfHydra) {
    EXPECT_EQ(last_line_of(std::string("Error executing job with overrides: ['data=clips']\n"
                                       "Traceback (most recent call last):\n"
                                       "  File \"/home/ana/train.py\", line 88, in main\n"
                                       "    trainer.fit(model)\n") +
                           kOutOfMemory +
                           "\n\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete "
                           "stack trace.\n"),
              kOutOfMemory);
}

// NVIDIA/nccl 1518, hiyouga/EasyR1 228.
TEST(FailureLine, IsWhatFollowsTheLastErrorOfNccl) {
    std::string const before =
        "[rank0]: Traceback (most recent call last):\n"
        "[rank0]:   File \"/home/ana/train.py\", line 12, in <module>\n"
        "[rank0]:     dist.barrier()\n"
        "[rank0]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, "
        "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.20.5\n"
        "[rank0]: ncclSystemError: System call (e.g. socket, malloc) or external library call "
        "failed or device error. \n"
        "[rank0]: Last error:\n";
    EXPECT_EQ(last_line_of(before + "[rank0]: Error while creating shared memory segment "
                                    "/dev/shm/nccl-qL3aXe (size 9637888)\n"),
              "Error while creating shared memory segment /dev/shm/nccl-qL3aXe (size 9637888)");
    EXPECT_EQ(last_line_of(before + "[rank0]: \n[rank0]: goodbye\n"),
              "ncclSystemError: System call (e.g. socket, malloc) or external library call failed "
              "or device error.");
}

// NVIDIA/Megatron-LM 935.
TEST(FailureLine, IsNotAFrameOfTheWatchdog) {
    EXPECT_EQ(
        last_line_of("[rank1]:[E ProcessGroupNCCL.cpp:583] [Rank 1] To avoid data inconsistency, "
                     "we are taking the entire process down.\n"
                     "terminate called after throwing an instance of 'c10::DistBackendError'\n"
                     "  what():  [PG 1 Rank 1] Process group watchdog thread terminated with "
                     "exception: [Rank 1] Watchdog caught collective operation timeout\n"
                     "Exception raised from checkTimeout at ProcessGroupNCCL.cpp:565 (most recent "
                     "call first):\n"
                     "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x99 "
                     "(0x7fe76ab98969 in /opt/lib/libc10.so)\n"
                     "frame #1: clone + 0x44 (0x7fe77666aa04 in /usr/lib/libc.so.6)\n\n"
                     "Fatal Python error: Aborted\n"),
        "what():  [PG 1 Rank 1] Process group watchdog thread terminated with exception: [Rank 1] "
        "Watchdog caught collective operation timeout");
}

// Dere-Wah/AI-MarioKart64 3: ranks warn about the store of a rank that has ended.
TEST(FailureLine, IsNotAWarningAboutAStoreThatIsGone) {
    EXPECT_EQ(last_line_of("[rank3]: Traceback (most recent call last):\n"
                           "[rank3]:   File \"/home/ana/train.py\", line 3, in <module>\n"
                           "[rank3]:     assert x.shape == y.shape\n"
                           "[rank3]: AssertionError\n"
                           "[rank3]:[W625 23:35:35.303 TCPStore.cpp:125] [c10d] recvValue failed "
                           "on SocketImpl(fd=6): failed to recv, got 0 bytes\n"
                           "Exception raised from recvBytes at Utils.hpp:678 (most recent call "
                           "first):\n"
                           "frame #0: c10::Error::Error(c10::SourceLocation) + 0x98 (0x7f6 in x)\n"
                           "[rank3]:[W625 23:35:35.311 ProcessGroupNCCL.cpp:1662] Failed to check "
                           "the flag on TCPStore, with error: failed to recv, got 0 bytes\n"),
              "AssertionError");
    EXPECT_EQ(last_line_of("[W Utils.hpp:133] Warning: Environment variable "
                           "NCCL_ASYNC_ERROR_HANDLING is deprecated\nloading clips\nKilled\n"),
              "Killed");
}

std::string summary_of_torchrun(std::string const& failures, std::string const& root) {
    std::string const rows =
        "  time      : 2025-03-25_20:57:27\n  host      : n3\n  rank      : 5 (local_rank: 5)\n"
        "  exitcode  : 1 (pid: 2630)\n  error_file: <N/A>\n";
    return "Traceback (most recent call last):\n"
           "  File \"/opt/bin/torchrun\", line 8, in <module>\n"
           "    raise ChildFailedError(\n"
           "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
           "=====\ntrain.py FAILED\n-----\nFailures:\n" +
           (failures.empty() ? "  <NO_OTHER_FAILURES>\n" : "[1]:\n" + rows + failures) +
           "-----\nRoot Cause (first observed failure):\n[0]:\n" + rows + root + "=====\n";
}

// pytorch/pytorch 113546, lmzpai/roboMamba 10.
TEST(FailureLine, IsThatOfTheFirstProcessThatTorchrunLost) {
    constexpr char const* kSeeElsewhere =
        "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic\n";
    constexpr char const* kKilled = "  traceback : Signal 9 (SIGKILL) received by PID 2630\n";
    std::string const failed_there = std::string(
                                         "[rank2]: Traceback (most recent call last):\n"
                                         "[rank2]:   File \"train.py\", line 12\n"
                                         "[rank2]: ") +
                                     kOutOfMemory +
                                     "\n"
                                     "[rank0]: ncclRemoteError: A call failed possibly due to a "
                                     "network error or a remote process exiting prematurely.\n"
                                     "[rank0]: Last error:\n"
                                     "[rank0]: socketProgress: Connection closed by remote peer "
                                     "n2<42830>\n"
                                     "E0325 20:57:27 2606 api.py:869] failed (exitcode: 1) "
                                     "local_rank: 5 (pid: 2630) of binary: /opt/bin/python\n";
    EXPECT_EQ(last_line_of(failed_there + summary_of_torchrun("", kSeeElsewhere)), kOutOfMemory);
    EXPECT_EQ(last_line_of(failed_there + summary_of_torchrun(kKilled, kSeeElsewhere)),
              kOutOfMemory);
    std::string const lost = failed_there.substr(failed_there.find("[rank0]"));
    EXPECT_EQ(last_line_of(lost + summary_of_torchrun("", kSeeElsewhere)),
              "socketProgress: Connection closed by remote peer n2<42830>");
    EXPECT_EQ(last_line_of(lost + summary_of_torchrun("",
                                                      "  traceback : Signal 11 (SIGSEGV) "
                                                      "received by PID 2630\n")),
              "traceback : Signal 11 (SIGSEGV) received by PID 2630");
    EXPECT_EQ(last_line_of("loading\n" + summary_of_torchrun("", kKilled)),
              "traceback : Signal 9 (SIGKILL) received by PID 2630");
    EXPECT_EQ(last_line_of(summary_of_torchrun("",
                                               "  traceback : Traceback (most recent call last):\n"
                                               "    File \"train.py\", line 5, in main\n"
                                               "      raise ValueError(\"x\")\n"
                                               "  ValueError: clip 17 has no frames\n")),
              "ValueError: clip 17 has no frames");
    EXPECT_EQ(last_line_of(summary_of_torchrun("", kSeeElsewhere)),
              "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:");
}

// bmaltais/kohya_ss 2556 and 999, deepspeedai/DeepSpeed 3232.
TEST(FailureLine, IsNotThatOfALauncherWhenTheProgramSaidMore) {
    std::string const failed =
        "Traceback (most recent call last):\n  File \"train.py\", line 40\n"
        "KeyError: 'pixel_values'\n";
    std::string const accelerate =
        "Traceback (most recent call last):\n"
        "  File \"/opt/lib/accelerate/commands/launch.py\", line 637, in simple_launcher\n"
        "    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)\n"
        "subprocess.CalledProcessError: Command '['/opt/bin/python', 'train.py']' returned "
        "non-zero exit status 1.\n";
    EXPECT_EQ(last_line_of(failed + accelerate), "KeyError: 'pixel_values'");
    EXPECT_EQ(last_line_of("steps:  26%|##  | 9/90 [33:07<1:34:33,  1.00s/it, avr_loss=0.0928]" +
                           accelerate),
              "subprocess.CalledProcessError: Command '['/opt/bin/python', 'train.py']' returned "
              "non-zero exit status 1.");
    auto const deepspeed = [](std::string const& code) {
        return "[2023-04-14 13:11:27,885] [ERROR] [launch.py:434:sigkill_handler] "
               "['/usr/bin/python3', '-u', 'main.py'" +
               std::string(400, ' ') + "] exits with return code = " + code + "\n";
    };
    EXPECT_EQ(last_line_of(failed + deepspeed("1")), "KeyError: 'pixel_values'");
    std::string const killed = last_line_of("ERROR: cannot import x\n" + deepspeed("-9"));
    EXPECT_TRUE(killed.ends_with("] exits with return code = -9")) << killed;
    EXPECT_EQ(killed.size(), 300u);
}

// THU-DA-6D-Pose-Group/GDR-Net 16, pytorch/pytorch 5040.
TEST(FailureLine, IsTheSignalOfALoadersWorker) {
    EXPECT_EQ(last_line_of("Traceback (most recent call last):\n"
                           "  File \"/opt/lib/dataloader.py\", line 1133, in _try_get_data\n"
                           "RuntimeError: DataLoader worker (pid 4121) is killed by signal: Bus "
                           "error. It is possible that dataloader's workers are out of shared "
                           "memory.\n\n"
                           "The above exception was the direct cause of the following "
                           "exception:\n\n"
                           "Traceback (most recent call last):\n"
                           "  File \"/opt/lib/dataloader.py\", line 1146, in _try_get_data\n"
                           "    raise RuntimeError('DataLoader worker exited') from e\n"
                           "RuntimeError: DataLoader worker (pid(s) 4121) exited unexpectedly\n"),
              "RuntimeError: DataLoader worker (pid 4121) is killed by signal: Bus error. It is "
              "possible that dataloader's workers are out of shared memory.");
}

// Megvii-BaseDetection/YOLOX 43, ashleve/lightning-hydra-template 175.
TEST(FailureLine, IsNotOfAThreadOrAFinalizer) {
    std::string const failed =
        "Traceback (most recent call last):\n  File \"train.py\", line 40\n"
        "ValueError: clip 17 has no frames\n";
    std::string const thread =
        "Exception in thread Thread-4 (_pin_memory_loop):\n"
        "Traceback (most recent call last):\n"
        "  File \"/opt/lib/threading.py\", line 1016, in _bootstrap_inner\n"
        "ConnectionResetError: [Errno 104] Connection reset by peer\n";
    std::string const finalizer =
        "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f3a>\n"
        "Traceback (most recent call last):\n"
        "  File \"/opt/lib/process.py\", line 160, in is_alive\n"
        "    assert self._parent_pid == os.getpid(), 'can only test a child process'\n"
        "AssertionError: can only test a child process\n";
    for (std::string const& after :
         {thread, finalizer, finalizer + thread,
          std::string("Exception ignored in: <_io.TextIOWrapper name='<stdout>'>\n"
                      "BrokenPipeError: [Errno 32] Broken pipe\n")}) {
        EXPECT_EQ(last_line_of(failed + after), "ValueError: clip 17 has no frames") << after;
        EXPECT_EQ(last_line_of(after + failed), "ValueError: clip 17 has no frames") << after;
    }
    EXPECT_EQ(last_line_of("epoch 3\n" + thread),
              "ConnectionResetError: [Errno 104] Connection reset by peer")
        << "nothing else failed";
}

// innnky/so-vits-svc 46, verl-project/verl 3346: torch.save() on a full disk.
TEST(FailureLine, IsTheWriteThatFailed) {
    EXPECT_EQ(last_line_of("Traceback (most recent call last):\n"
                           "  File \"/opt/lib/serialization.py\", line 650, in _save\n"
                           "RuntimeError: [enforce fail at inline_container.cc:445] . "
                           "PytorchStreamWriter failed writing file data/176: file write failed\n\n"
                           "During handling of the above exception, another exception occurred:\n\n"
                           "Traceback (most recent call last):\n"
                           "  File \"/opt/lib/serialization.py\", line 424, in save\n"
                           "RuntimeError: [enforce fail at inline_container.cc:300] . unexpected "
                           "pos 190007680 vs 190007572\n"),
              "RuntimeError: [enforce fail at inline_container.cc:445] . PytorchStreamWriter "
              "failed writing file data/176: file write failed");
}

// facebookincubator/submitit 1708, ykdai/Flare7K 25.
TEST(FailureLine, IsNotThatOfALogOrOfAStepThatEnds) {
    EXPECT_EQ(last_line_of("slurmstepd: error: *** STEP 608.0 ON n1 CANCELLED AT "
                           "2022-08-12T02:06:12 DUE TO JOB REQUEUE ***\n"
                           "slurmstepd: error: Failed to send MESSAGE_TASK_EXIT: Connection "
                           "refused\n"),
              "slurmstepd: error: *** STEP 608.0 ON n1 CANCELLED AT 2022-08-12T02:06:12 DUE TO "
              "JOB REQUEUE ***");
    EXPECT_EQ(last_line_of("ValueError: clip 17 has no frames\n--- Logging error ---\n"
                           "Traceback (most recent call last):\n"
                           "  File \"/opt/lib/logging/__init__.py\", line 1113, in emit\n"
                           "OSError: [Errno 28] No space left on device\n"
                           "Call stack:\n  File \"train.py\", line 3\nMessage: 'saved'\n"),
              "ValueError: clip 17 has no frames");
}

// suprosanna/relationformer 18: the worker was killed while the loader waited for its queue.
TEST(FailureLine, IsNotTheQueueThatALoaderWaitsFor) {
    EXPECT_EQ(last_line_of("Traceback (most recent call last):\n"
                           "  File \"/opt/lib/dataloader.py\", line 1120, in _try_get_data\n"
                           "queue.Empty\n\n"
                           "The above exception was the direct cause of the following "
                           "exception:\n\n"
                           "Traceback (most recent call last):\n"
                           "  File \"/opt/lib/dataloader.py\", line 1133, in _try_get_data\n"
                           "RuntimeError: DataLoader worker (pid(s) 4121) exited unexpectedly\n"),
              "RuntimeError: DataLoader worker (pid(s) 4121) exited unexpectedly");
}

// WENGSYX/CMIVQA_Baseline 16, Scalsol/RepPointsV2 15, xhw205/GPLinker_torch 14.
TEST(FailureLine, IsTheAssertionOfADevice) {
    std::string const kernel =
        "/build/ATen/native/cuda/Loss.cu:94: operator(): block: [1,0,0], thread: [115,0,0] "
        "Assertion `input_val >= zero && input_val <= one` failed.";
    std::string const raised =
        "Traceback (most recent call last):\n  File \"train.py\", line 40\n"
        "RuntimeError: CUDA error: device-side assert triggered\n"
        "CUDA kernel errors might be asynchronously reported at some other API call.\n";
    std::string const terminated =
        "terminate called after throwing an instance of 'c10::Error'\n"
        "  what():  CUDA error: device-side assert triggered\n"
        "frame #0: c10::Error::Error(c10::SourceLocation) + 0x6d (0x7f0e in x.so)\n";
    EXPECT_EQ(last_line_of(kernel + "\n" + raised), kernel);
    EXPECT_EQ(last_line_of(raised + kernel + "\n"), kernel);
    EXPECT_EQ(last_line_of(kernel + "\n" + raised + terminated), kernel);
    EXPECT_EQ(last_line_of("ERROR: cannot import x\n" + raised),
              "RuntimeError: CUDA error: device-side assert triggered");
}

// pytorch/pytorch 8976, xxayt/MGSV 2, deepspeedai/DeepSpeed 3232, bmaltais/kohya_ss 2556.
TEST(FailureLine, TellsThatAProcessWasKilled) {
    for (char const* line :
         {"RuntimeError: DataLoader worker (pid 108439) is killed by signal: Killed. ",
          "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 "
          "(pid: 178) of binary: /opt/bin/python",
          "  traceback : Signal 9 (SIGKILL) received by PID 178",
          "[ERROR] [launch.py:434:sigkill_handler] ['python3'] exits with return code = -9",
          "subprocess.CalledProcessError: Command '['python']' died with <Signals.SIGKILL: 9>.",
          "/home/ana/run.sh: line 3:  4121 Killed                  python train.py"}) {
        EXPECT_TRUE(tells_of_kill(line)) << line;
        EXPECT_EQ(last_line_of("loading\n" + std::string(line) + "\n"), trimmed(line));
    }
    EXPECT_FALSE(tells_of_kill("RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus"));
    EXPECT_FALSE(tells_of_kill("failed (exitcode: 1) local_rank: 0"));
    EXPECT_TRUE(ended_by_kill(0, SIGKILL, ""));
    EXPECT_TRUE(ended_by_kill(137, 0, "Killed")) << "a shell, whose program was killed";
    EXPECT_TRUE(ended_by_kill(1, 0, "DataLoader worker (pid 9) is killed by signal: Killed. "));
    EXPECT_FALSE(ended_by_kill(1, 0, "ValueError"));
    EXPECT_FALSE(ended_by_kill(0, SIGTERM, "")) << "SIGTERM";
}

TEST(FailureLine, IsAnyExceptionThatEndsATraceback) {
    EXPECT_EQ(last_line_of("Traceback (most recent call last):\n  File \"loader.py\", line 9\n"
                           "    raise RuntimeError(\"never\")\n_queue.Empty\nbye\n"),
              "_queue.Empty");
    EXPECT_EQ(last_line_of("step 11 loss 0.5\nTraceback (most recent call last):\n"
                           "  File \"train.py\", line 9\n"
                           "RuntimeError: NaN at step 12: loss=nan\n"),
              "RuntimeError: NaN at step 12: loss=nan");
    EXPECT_EQ(last_line_of("torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
                           "-- Process 1 terminated with the following error:\r\n"
                           "Traceback (most recent call last):\r\n  File \"train.py\"\r\n"
                           "RuntimeError: CUDA error: invalid device ordinal\r\n"
                           "Compile with `TORCH_USE_CUDA_DSA` to enable assertions.\r\n"),
              "RuntimeError: CUDA error: invalid device ordinal");
    EXPECT_EQ(last_line_of("slurmstepd: error: *** STEP 123.0 ON n1 CANCELLED AT "
                           "2024-05-21T10:00:00 DUE TO TIME LIMIT ***\n"
                           "srun: error: n1: task 0: Exited with exit code 1\n"),
              "slurmstepd: error: *** STEP 123.0 ON n1 CANCELLED AT 2024-05-21T10:00:00 DUE TO "
              "TIME LIMIT ***");
}

}  // namespace
}  // namespace osora::daemon
