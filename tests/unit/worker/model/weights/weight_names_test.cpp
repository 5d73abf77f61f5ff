// Names as people's wrappers leave them: karpathy/nanoGPT#325 (_orig_mod.), DDP (module.), ComfyUI.
#include "worker/model/weights/weight_names.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

TEST(WeightNames, WrappersInAnyNestingWhenAllNamesHaveThem) {
    for (std::string_view const prefix :
         {"module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.",
          "model.diffusion_model.", "ema_model.module.", "_fsdp_wrapped_module._orig_mod."}) {
        std::string const a = std::string(prefix) + "x_embedder.bias";
        std::string const b = std::string(prefix) + "final_layer.linear.weight";
        EXPECT_EQ(wrapper_prefix({a, b}), prefix);
        EXPECT_EQ(wrapper_prefix({a, b, "step"}), "") << "not all names have it";
    }
    EXPECT_EQ(wrapper_prefix({"blocks.0.weight", "blocks.1.weight"}), "");
    EXPECT_EQ(wrapper_prefix({"modules.0.weight"}), "");
    EXPECT_EQ(wrapper_prefix({"model"}), "");
    EXPECT_EQ(wrapper_prefix({}), "");
}

TEST(WeightNames, FirstPartsAreCounted) {
    EXPECT_EQ(first_parts({"ema.a", "ema.b", "online.a", "step"}),
              "ema. (2), online. (1), step (1)");
    EXPECT_EQ(first_parts({"a.x", "b.x", "c.x", "d.x", "e.x", "f.x", "g.x"}),
              "a. (1), b. (1), c. (1), d. (1), e. (1), f. (1), ...");
}

}  // namespace
}  // namespace osora::worker
