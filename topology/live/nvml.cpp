// The functions are declared here as in nvml.h: its ABI is stable, and no toolkit is needed to
// build. Functions that a driver lacks stay empty.
#include "topology/live/nvml.hpp"

#include "topology/live/nvml_library.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace osora::topology {
namespace {

using EventSet = void*;
constexpr int kTemperatureGpu = 0, kClockSm = 1, kUncorrected = 1, kVolatile = 0;
constexpr unsigned long long kXidCritical = 8;
constexpr unsigned kEventsAtOnce = 64;

struct EventData {  // nvmlEventData_t
    NvmlDevice device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

template <class Function>
void find(Library const& library, Function*& function, char const* name) {
    function = reinterpret_cast<Function*>(::dlsym(library.get(), name));
}

struct Functions {
    explicit Functions(Library const& library) {
        find(library, init, "nvmlInit_v2");
        find(library, shutdown, "nvmlShutdown");
        find(library, count, "nvmlDeviceGetCount_v2");
        find(library, handle, "nvmlDeviceGetHandleByIndex_v2");
        find(library, temperature, "nvmlDeviceGetTemperature");
        find(library, power, "nvmlDeviceGetPowerUsage");
        find(library, clock, "nvmlDeviceGetClockInfo");
        find(library, throttle, "nvmlDeviceGetCurrentClocksEventReasons");
        if (throttle == nullptr) {
            find(library, throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
        }
        find(library, ecc, "nvmlDeviceGetTotalEccErrors");
        find(library, memory, "nvmlDeviceGetMemoryInfo");
        find(library, make_events, "nvmlEventSetCreate");
        find(library, register_events, "nvmlDeviceRegisterEvents");
        find(library, wait_event, "nvmlEventSetWait_v2");
        find(library, free_events, "nvmlEventSetFree");
    }
    [[nodiscard]] bool enough() const {
        return init != nullptr && shutdown != nullptr && count != nullptr && handle != nullptr;
    }

    NvmlStatus (*init)();
    NvmlStatus (*shutdown)();
    NvmlStatus (*count)(unsigned*);
    NvmlStatus (*handle)(unsigned, NvmlDevice*);
    NvmlStatus (*temperature)(NvmlDevice, int, unsigned*);
    NvmlStatus (*power)(NvmlDevice, unsigned*);  // mW
    NvmlStatus (*clock)(NvmlDevice, int, unsigned*);
    NvmlStatus (*throttle)(NvmlDevice, unsigned long long*);
    NvmlStatus (*ecc)(NvmlDevice, int, int, unsigned long long*);
    NvmlStatus (*memory)(NvmlDevice, NvmlMemory*);
    NvmlStatus (*make_events)(EventSet*);
    NvmlStatus (*register_events)(NvmlDevice, unsigned long long, EventSet);
    NvmlStatus (*wait_event)(EventSet, EventData*, unsigned);
    NvmlStatus (*free_events)(EventSet);
};

class Driver final : public Nvml {
public:
    Driver(Library library, Functions const& functions)
        : library_(std::move(library)), nvml_(functions) {
        unsigned count = 0;
        if (nvml_.count(&count) != 0) count = 0;
        for (unsigned i = 0; i < std::min(count, kNvmlGpusMax); ++i) {
            NvmlDevice device = nullptr;
            if (nvml_.handle(i, &device) == 0) devices_.emplace_back(static_cast<int>(i), device);
        }
        listen();
    }
    ~Driver() override {
        if (events_ != nullptr) nvml_.free_events(events_);
        nvml_.shutdown();
    }
    Driver(Driver const&) = delete;
    Driver& operator=(Driver const&) = delete;

    std::vector<GpuReading> read() override {
        std::vector<GpuReading> readings;
        for (auto const& [index, device] : devices_) {
            GpuReading reading;
            reading.index = index;
            if (fill(reading, device)) readings.push_back(std::move(reading));
        }
        take_xids(readings);
        return readings;
    }

private:
    void listen() {
        bool const can = nvml_.make_events != nullptr && nvml_.register_events != nullptr &&
                         nvml_.wait_event != nullptr && nvml_.free_events != nullptr;
        if (!can || nvml_.make_events(&events_) != 0) {
            events_ = nullptr;
            return;
        }
        for (auto const& [index, device] : devices_) {
            (void)nvml_.register_events(device, kXidCritical, events_);
        }
    }

    /// Whether the GPU answers at all: one that fell off the bus returns nothing.
    [[nodiscard]] bool fill(GpuReading& reading, NvmlDevice device) const {
        int answers = 0;
        auto const ask = [&](auto* function, auto& value, auto... arguments) {
            bool const good = function != nullptr && function(device, arguments..., &value) == 0;
            answers += good ? 1 : 0;
            return good;
        };
        unsigned value = 0;
        unsigned long long wide = 0;
        if (ask(nvml_.temperature, value, kTemperatureGpu)) reading.temperature_c = value;
        if (ask(nvml_.power, value)) reading.power_w = value / 1000.0;
        if (ask(nvml_.clock, value, kClockSm)) reading.sm_mhz = value;
        if (ask(nvml_.throttle, wide)) reading.throttle_reasons = wide;
        if (ask(nvml_.ecc, wide, kUncorrected, kVolatile)) reading.ecc_uncorrected = wide;
        NvmlMemory memory{};
        if (ask(nvml_.memory, memory)) reading.memory_used_bytes = memory.used;
        return answers > 0;
    }

    /// Includes events of a GPU that no longer answers: it may be the cause.
    void take_xids(std::vector<GpuReading>& readings) {
        EventData event{};
        for (unsigned i = 0; events_ != nullptr && i < kEventsAtOnce; ++i) {
            if (nvml_.wait_event(events_, &event, 0) != 0) return;
            if (event.type != kXidCritical) continue;
            auto const known =
                std::ranges::find(devices_, event.device, &std::pair<int, NvmlDevice>::second);
            if (known == devices_.end()) continue;
            auto at = std::ranges::find(readings, known->first, &GpuReading::index);
            if (at == readings.end()) {
                at = readings.insert(readings.end(), GpuReading{});
                at->index = known->first;
            }
            at->xids.push_back(static_cast<int>(std::min(event.data, 9999ull)));
        }
    }

    Library library_;
    Functions nvml_;
    std::vector<std::pair<int, NvmlDevice>> devices_;
    EventSet events_ = nullptr;
};

}  // namespace

std::unique_ptr<Nvml> open_nvml(std::string const& name) {
    Library library(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!library) return {};
    Functions const functions(library);
    if (!functions.enough() || functions.init() != 0) return {};
    return std::make_unique<Driver>(std::move(library), functions);
}

}  // namespace osora::topology
