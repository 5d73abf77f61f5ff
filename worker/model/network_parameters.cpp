#include "worker/model/network_parameters.hpp"

#include "worker/model/mmdit/mmdit.hpp"
#include "worker/model/stdit/stdit2.hpp"
#include "worker/model/stdit/stdit3.hpp"

namespace osora::worker {

Result<Parameters> network_parameters(plan::ModelShape const& shape) {
    auto const meta = at::TensorOptions().device(at::kMeta);
    if (shape.family == plan::ModelFamily::mmdit) {
        OSORA_TRY(auto const config, mmdit_config(shape));
        return Mmdit(config, meta).parameters();
    }
    if (shape.family == plan::ModelFamily::stdit2) {
        OSORA_TRY(auto const config, stdit2_config(shape));
        return Stdit2(config, meta).parameters();
    }
    OSORA_TRY(auto const config, stdit3_config(shape));
    return Stdit3(config, meta).parameters();
}

}  // namespace osora::worker
