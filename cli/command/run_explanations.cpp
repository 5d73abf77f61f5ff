// How runs end.
#include "cli/command/explanations_internal.hpp"

#include "cli/command/exit_code.hpp"

#include <array>

namespace osora::cli {
namespace {

constexpr std::array kRunErrors{
    Explanation{
        .id = "E-cancelled",
        .title = "the run was stopped on request",
        .meaning = "osora cancel, Ctrl-C in the attached osora, or scancel ended the run after a "
                   "checkpoint.",
        .causes = "somebody asked for it\n"
                  "the terminal of an attached run was closed",
        .next = "osora resume RUN\n"
                "osora submit --detach leaves a run alone when the terminal closes",
        .exit_code = kExitInterrupted,
    },
    Explanation{
        .id = "E-check",
        .title = "a check of the worker failed",
        .meaning =
            "osora-worker compared what it computed, read or received with what it must be, and "
            "they differ, or LibTorch reported an error in a step. It stops before the "
            "difference reaches a checkpoint.",
        .causes = "memory or a GPU returns wrong values\n"
                  "LibTorch refused an operator: the message begins with LibTorch\n"
                  "train.self_check found that a step of the layout is not that of one rank\n"
                  "a defect of osora",
        .next = "osora logs RUN\n"
                "osora doctor --run RUN\n"
                "osora report RUN",
        .exit_code = kExitBad,
        .worker_exit_code = protocol::kExitCheckFailed,
    },
    Explanation{
        .id = "E-comm",
        .title = "a rank lost its peers",
        .meaning =
            "A collective or a connection between ranks failed. The rank that reports it is often "
            "not the one at fault: its peer ended or was unreachable.",
        .causes = "another rank or node died; it is named first in the log\n"
                  "a firewall or the wrong network interface between nodes\n"
                  "faults.collective_timeout is shorter than the slowest rank",
        .next = "osora logs RUN begins with the rank that failed first\n"
                "osora doctor --run RUN\n"
                "osora probe RUN.toml\n"
                "osora nccl env RUN.toml",
        .exit_code = kExitBad,
        .worker_exit_code = protocol::kExitComm,
    },
    Explanation{
        .id = "E-configuration",
        .title = "the worker cannot do what the run file asks",
        .meaning =
            "osora-worker read the run's settings or data and refused them. Running it again "
            "gives the same answer, so it was not restarted.",
        .causes = "files that the run file names are missing or unreadable on the node\n"
                  "weights of another architecture\n"
                  "no row of the list can be used",
        .next = "osora validate RUN.toml\n"
                "osora logs RUN\n"
                "correct the run file, then osora submit",
        .exit_code = kExitBad,
        .worker_exit_code = protocol::kExitConfiguration,
    },
    Explanation{
        .id = "E-controller-lost",
        .title = "the controller ended without ending the run",
        .meaning =
            "The journal has no end, and no process controls the run any more. Its checkpoints "
            "are kept.",
        .causes = "the controller was killed, or its node failed\n"
                  "the Slurm job ended at once",
        .next = "osora resume RUN\n"
                "osora daemon start: controllers are restarted when they die",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-crash",
        .title = "a rank crashed",
        .meaning =
            "A worker ended by a signal that a program raises itself, such as a segmentation "
            "fault.",
        .causes =
            "a defect of the program, of a library or a driver\n"
            "a clip on which FFmpeg crashes: the log of the rank names it, and later attempts "
            "leave it out\n"
            "a file system that failed while a file of it was mapped, such as a shard of a cache: "
            "the log of the rank names it\n"
            "damaged memory",
        .next = "osora logs RUN\n"
                "osora doctor --run RUN\n"
                "run it again: a crash at another step hints at hardware",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-data",
        .title = "too many samples could not be read",
        .meaning =
            "Clips could not be decoded, or ranks read different lists. Single bad clips are "
            "replaced and do not end a run.",
        .causes = "more than data.bad_samples_max of the samples are damaged\n"
                  "the folder of the clips is not mounted on a node\n"
                  "nodes have different versions of the list",
        .next = "osora data check --manifest LIST --quarantine bad.csv\n"
                "osora logs RUN",
        .exit_code = kExitBad,
        .worker_exit_code = protocol::kExitData,
    },
    Explanation{
        .id = "E-early-exit",
        .title = "a rank ended before the last step",
        .meaning = "The worker ended with exit code 0, but the run has steps left.",
        .causes = "the program has its own number of steps\n"
                  "another program runs as the worker",
        .next = "osora logs RUN\n"
                "train.steps of the run file",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-ended",
        .title = "a rank was ended by its agent",
        .meaning =
            "The agent of a node stopped its ranks: its controller was unreachable for longer "
            "than faults.lease, or another rank had failed.",
        .causes = "the network between the node and the controller\n"
                  "the controller died",
        .next = "osora logs RUN\n"
                "osora status RUN",
        .exit_code = kExitBad,
        .worker_exit_code = protocol::kExitEndedByController,
    },
    Explanation{
        .id = "E-gpu",
        .title = "the GPU of a rank failed",
        .meaning =
            "CUDA reported an error of the GPU or of its memory or links, or one that a program "
            "and a GPU can both cause. The run is restarted while faults.max_restarts allows it, "
            "after a hardware fault on another host if one is free.",
        .causes = "an uncorrectable memory or NVLink error, a GPU that fell off the bus\n"
                  "after an illegal memory access or a failed launch: also a defect of a kernel or "
                  "of the driver",
        .next = "osora doctor --run RUN\n"
                "osora nodes\n"
                "dmesg | grep -i xid on the node\n"
                "resources.spares keeps nodes for a swap\n"
                "osora resume RUN",
        .exit_code = kExitBad,
        .worker_exit_code = protocol::kExitGpu,
    },
    Explanation{
        .id = "E-hang",
        .title = "the run made no progress",
        .meaning =
            "No rank finished its phase within its limit. osora wrote what each rank was doing "
            "before it ended them.",
        .causes = "a rank waits for one that is behind; the cause names it\n"
                  "a deadlock in the network\n"
                  "a file system that does not answer",
        .next = "the folder stacks/ of the run directory\n"
                "osora doctor --run RUN\n"
                "faults.step_timeout is the limit of a step",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-killed",
        .title = "a rank was killed",
        .meaning = "Another process, the kernel or an administrator sent the worker, or a process "
                   "that it started, a signal.",
        .causes = "the host ran out of memory: the cause says so\n"
                  "Slurm ended the step\n"
                  "somebody used kill",
        .next = "osora report RUN shows the memory of nodes\n"
                "dmesg | grep -i oom\n"
                "data.host_memory_gib and data.num_workers limit the loader",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-node",
        .title = "a node failed",
        .meaning =
            "An agent fell silent or its node went down. The run is restarted on other nodes "
            "while faults.max_restarts allows it.",
        .causes = "the node crashed or lost its network\n"
                  "Slurm took the node away",
        .next = "osora nodes\n"
                "osora doctor --run RUN\n"
                "resources.spares keeps nodes for a swap\n"
                "osora resume RUN",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-oom",
        .title = "a rank ran out of memory",
        .meaning =
            "The device, or the limit memory.rank_memory_gib, had no room for a tensor. osora had "
            "already tried smaller micro-batches at the same global batch, and more recompute.",
        .causes = "a bucket with larger samples than the plan knew of\n"
                  "other programs on the GPU\n"
                  "fragmentation",
        .next = "RUN/memory has a report of each rank\n"
                "osora plan RUN.toml --explain\n"
                "--set memory.recompute=full, or a smaller micro_batch_size",
        .exit_code = kExitBad,
        .worker_exit_code = protocol::kExitOutOfMemory,
    },
    Explanation{
        .id = "E-preempted",
        .title = "the job was preempted",
        .meaning = "The scheduler took the nodes for another job, after a checkpoint.",
        .causes = "a job of higher priority\n"
                  "the end of a reservation",
        .next = "osora resume RUN\n"
                "[slurm] chain and a requeue continue by themselves",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-program",
        .title = "the program of the run failed",
        .meaning =
            "The command of job = \"exec\" ended with an error. The cause quotes the end of its "
            "output.",
        .causes = "an exception of the program\n"
                  "a command or module that is missing on the node (126, 127)",
        .next = "osora logs RUN\n"
                "worker.command of the run file",
        .exit_code = kExitBad,
    },
    Explanation{
        .id = "E-refused",
        .title = "the worker refused the run: it would run out of memory",
        .meaning = "The worker's own prediction on the device that it found is above its memory.",
        .causes = "a GPU with less memory than the plan assumed\n"
                  "other programs on the GPU",
        .next = "osora plan RUN.toml --explain\n"
                "memory.gpu_memory_gib",
        .exit_code = kExitBad,
        .worker_exit_code = protocol::kExitRefused,
    },
    Explanation{
        .id = "E-stopped",
        .title = "the program asked not to be started again",
        .meaning =
            "A worker ended with exit code 93, by which a program says that neither osora nor the "
            "scheduler should restart it.",
        .causes = "the program ended itself",
        .next = "osora logs RUN\n"
                "osora resume RUN, if it may run again",
        .exit_code = protocol::kExitDoNotRequeue,
        .worker_exit_code = protocol::kExitDoNotRequeue,
    },
    Explanation{
        .id = "E-timeout",
        .title = "the time of the job ended",
        .meaning = "resources.time_limit or the partition's limit was reached, after a checkpoint.",
        .causes = "the run needs more time than the job has",
        .next = "osora resume RUN\n"
                "[slurm] chain submits the following job by itself",
        .exit_code = kExitBad,
    },
};

}  // namespace

std::span<Explanation const> run_explanations() {
    return kRunErrors;
}

}  // namespace osora::cli
