// The data rate of a PCIe link. Pure.
#pragma once

#include "topology/machine.hpp"

namespace osora::topology {

/// GB/s of data in one direction at the current speed: 8b/10b code up to 5 GT/s, 128b/130b from 8
/// GT/s, 242/256 flits at 64 GT/s (PCIe 6.0); packet headers not counted. 0 = unknown.
[[nodiscard]] inline double pcie_gbyte_s(PcieLink const& link) {
    double const code = link.current_gt_s <= 5    ? 0.8
                        : link.current_gt_s <= 32 ? 128.0 / 130
                                                  : 242.0 / 256;
    return link.current_gt_s * link.current_width * code / 8;
}

/// 16 GT/s = generation 4; 0 = not known.
[[nodiscard]] inline int pcie_generation(double gt_s) {
    int generation = 0;
    for (double const each : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0}) generation += gt_s >= each ? 1 : 0;
    return generation;
}

/// Whether it runs below the capability of both ends: fewer lanes or a lower speed.
[[nodiscard]] inline bool is_downgraded(PcieLink const& link) {
    bool const slower = link.current_gt_s > 0 && link.current_gt_s < link.max_gt_s;
    bool const narrower = link.current_width > 0 && link.current_width < link.max_width;
    return slower || narrower;
}

}  // namespace osora::topology
