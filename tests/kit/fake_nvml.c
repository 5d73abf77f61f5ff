/* libnvidia-ml.so.1 of a machine with two GPUs. A test that opens it too can change what it says.
 */
#include <stddef.h>
#include <string.h>

enum { kGpus = 2, kSuccess = 0, kLost = 15, kTimeout = 10 };

struct gpu {
    int lost, xid;
    unsigned temperature_c, power_mw, sm_mhz;
    unsigned long long throttle, ecc, used;
};
struct memory {
    unsigned long long total, free, used;
};
struct event {
    void* device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

static struct gpu gpus[kGpus] = {{0, 0, 55, 400500, 1755, 1, 0, 1ull << 30},
                                 {0, 0, 57, 410000, 1740, 0, 3, 2ull << 30}};
static int inits;

struct gpu* fake_nvml_gpu(int index) {
    return &gpus[index];
}
int fake_nvml_inits(void) {
    return inits;
}

int nvmlInit_v2(void) {
    ++inits;
    return kSuccess;
}
int nvmlShutdown(void) {
    --inits;
    return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = kGpus;
    return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = &gpus[index];
    return kSuccess;
}

static int answer(void* device, unsigned* to, unsigned value) {
    struct gpu const* gpu = device;
    if (gpu->lost) return kLost;
    *to = value;
    return kSuccess;
}
static int answer_wide(void* device, unsigned long long* to, unsigned long long value) {
    struct gpu const* gpu = device;
    if (gpu->lost) return kLost;
    *to = value;
    return kSuccess;
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* to) {
    return sensor == 0 ? answer(device, to, ((struct gpu*)device)->temperature_c) : kTimeout;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* to) {
    return answer(device, to, ((struct gpu*)device)->power_mw);
}
int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* to) {
    return clock == 1 ? answer(device, to, ((struct gpu*)device)->sm_mhz) : kTimeout;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* to) {
    return answer_wide(device, to, ((struct gpu*)device)->throttle);
}
int nvmlDeviceGetTotalEccErrors(void* device, int kind, int counter, unsigned long long* to) {
    return kind == 1 && counter == 0 ? answer_wide(device, to, ((struct gpu*)device)->ecc)
                                     : kTimeout;
}
int nvmlDeviceGetMemoryInfo(void* device, struct memory* to) {
    to->total = 80ull << 30;
    return answer_wide(device, &to->used, ((struct gpu*)device)->used);
}

/* What does not change: an H100 pair. GPU 0 has 17 links to switches, GPU 1 has 18, one of them to
 * GPU 0 itself. */
struct pci_info {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
};
struct fabric_info {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
};
static char const* const kAddresses[kGpus] = {"00000000:18:00.0", "00000000:2A:00.0"};

static int index_of(void const* device) {
    return (int)((struct gpu const*)device - gpus);
}
static int answer_text(void* device, char* to, unsigned size, char const* text) {
    if (((struct gpu*)device)->lost) return kLost;
    if (strlen(text) >= size) return kTimeout;
    memcpy(to, text, strlen(text) + 1);
    return kSuccess;
}
int nvmlSystemGetDriverVersion(char* to, unsigned size) {
    if (size < 10) return kTimeout;
    memcpy(to, "550.54.15", 10);
    return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void* device, struct pci_info* to) {
    return answer_text(device, to->address, sizeof to->address, kAddresses[index_of(device)]);
}
int nvmlDeviceGetName(void* device, char* to, unsigned size) {
    return answer_text(device, to, size, "NVIDIA H100 80GB HBM3");
}
int nvmlDeviceGetUUID(void* device, char* to, unsigned size) {
    return answer_text(device, to, size, index_of(device) == 0 ? "GPU-0000" : "GPU-1111");
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
    (void)device;
    *major = 9;
    *minor = 0;
    return kSuccess;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* to) {
    return answer(device, to, index_of(device) == 0 ? 5 : 3);
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* to) {
    return answer(device, to, 5);
}
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* to) {
    return answer(device, to, 16);
}
int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* to) {
    return answer(device, to, 16);
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* to) {
    if (link >= 18) return kTimeout;
    return answer(device, to, index_of(device) == 0 && link == 3 ? 0 : 1);
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* to) {
    *to = index_of(device) == 1 && link == 17 ? 0 : 2;
    return kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, struct pci_info* to) {
    if (link != 17) return kTimeout;
    return answer_text(device, to->address, sizeof to->address, kAddresses[0]);
}
int nvmlDeviceGetGpuFabricInfo(void* device, struct fabric_info* to) {
    memset(to, 0, sizeof *to);
    to->cluster[15] = 0x2a;
    to->clique = 7;
    to->state = index_of(device) == 0 ? 3 : 2;
    return kSuccess;
}

int nvmlEventSetCreate(void** set) {
    *set = gpus;
    return kSuccess;
}
int nvmlEventSetFree(void* set) {
    return set == gpus ? kSuccess : kTimeout;
}
int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
    return device != NULL && types == 8 && set == gpus ? kSuccess : kTimeout;
}
int nvmlEventSetWait_v2(void* set, struct event* event, unsigned timeout_ms) {
    if (set != gpus || timeout_ms != 0) return kTimeout;
    for (int i = 0; i < kGpus; ++i) {
        if (gpus[i].xid == 0) continue;
        *event = (struct event){&gpus[i], 8, (unsigned long long)gpus[i].xid, ~0u, ~0u};
        gpus[i].xid = 0;
        return kSuccess;
    }
    return kTimeout;
}
