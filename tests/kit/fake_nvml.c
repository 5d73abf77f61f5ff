/* libnvidia-ml.so.1 of a machine with two GPUs. A test that opens it too can change what it says.
 */
#include <stddef.h>

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
    return answer_wide(device, &to->used, ((struct gpu*)device)->used);
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
