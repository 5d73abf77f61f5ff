// The table of sizes, and the requirements of the families: whole heads, pairs of values for rope,
// and in STDiT2 thirds of the width, for its embedders of size and aspect ratio.
#include "plan/model/model_sizes.hpp"

#include "plan/layout/divisibility.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace osora::plan {
namespace {

constexpr int kRopeHeadMin = 6;  // MMDiT: a pair of numbers for each of frame, row and column

void set(int value, int& into) {
    if (value != 0) into = value;
}

ModelShape with_sizes(ModelSection const& model, ModelShape shape) {
    set(model.depth, shape.depth);
    set(model.single_depth, shape.single_depth);
    set(model.hidden, shape.hidden);
    set(model.heads, shape.heads);
    if (model.mlp_ratio != 0) shape.mlp_ratio = model.mlp_ratio;
    set(model.patch_size, shape.patch_size[1]);
    set(model.patch_size, shape.patch_size[2]);
    set(model.in_channels, shape.in_channels);
    set(model.text_tokens, shape.text_tokens);
    set(model.caption_channels, shape.caption_channels);
    set(model.pooled_channels, shape.pooled_channels);
    return shape;
}

/// Widths must be multiples of it.
int width_unit(ModelShape const& shape, int heads) {
    if (shape.family == ModelFamily::mmdit) return 2 * heads;
    return std::lcm(shape.family == ModelFamily::stdit2 ? 12 : 4, 2 * heads);
}

int least_width(ModelShape const& shape, int heads) {
    return shape.family == ModelFamily::mmdit ? kRopeHeadMin * heads : width_unit(shape, heads);
}

bool fits(ModelShape const& shape, int heads) {
    return shape.hidden >= least_width(shape, heads) &&
           shape.hidden % width_unit(shape, heads) == 0;
}

/// The numbers of heads next to `shape.heads` that divide the width.
std::vector<int> nearest_heads(ModelShape const& shape) {
    std::vector<int> found;
    for (int heads = std::min(shape.heads, shape.hidden); heads >= 1 && found.empty(); --heads)
        if (fits(shape, heads)) found.push_back(heads);
    for (int heads = shape.heads + 1; heads <= shape.hidden && heads < 2 * shape.heads; ++heads) {
        if (!fits(shape, heads)) continue;
        found.push_back(heads);
        break;
    }
    return found;
}

/// Multiples of the unit next to the width, none below the minimum.
std::vector<std::int64_t> nearest_widths(ModelShape const& shape) {
    std::int64_t const least = least_width(shape, shape.heads);
    if (shape.hidden < least) return {least};
    return nearest_multiples(width_unit(shape, shape.heads), shape.hidden);
}

void check_width(ModelSection const& model, ModelShape const& shape,
                 std::vector<SizeViolation>& found) {
    if (fits(shape, shape.heads)) return;
    auto const heads = nearest_heads(shape);
    if (model.hidden == 0 && !heads.empty()) {
        found.push_back({"model.heads",
                         fmt::format("do not cut a width of {} into heads of an even width; "
                                     "nearest valid: {}",
                                     shape.hidden, fmt::join(heads, ", ")),
                         Errc::not_divisible});
        return;
    }
    found.push_back(
        {"model.hidden",
         fmt::format("{} heads take multiples of {}, at least {}; nearest valid: {}", shape.heads,
                     width_unit(shape, shape.heads), least_width(shape, shape.heads),
                     fmt::join(nearest_widths(shape), ", ")),
         Errc::not_divisible});
}

/// Sizes of parts that the family does not have.
void check_parts(ModelSection const& model, ModelShape const& shape,
                 std::vector<SizeViolation>& found) {
    if (shape.family == ModelFamily::mmdit) return;
    std::pair<char const*, int> const parts[] = {{"model.single_depth", model.single_depth},
                                                 {"model.pooled_channels", model.pooled_channels}};
    for (auto const& [key, value] : parts) {
        if (value == 0) continue;
        found.push_back({key, fmt::format("is a size of MMDiT; valid with {}: 0", model.arch)});
    }
}

}  // namespace

std::vector<SizeViolation> size_violations(ModelSection const& model) {
    auto const named = model_shape(model.arch);
    if (named.has_error()) return {{"model.arch", named.error().message, named.error().code}};
    std::vector<SizeViolation> found;
    ModelShape const shape = with_sizes(model, *named);
    check_width(model, shape, found);
    check_parts(model, shape, found);
    return found;
}

Result<ModelShape> model_shape(ModelSection const& model) {
    auto const broken = size_violations(model);
    if (!broken.empty()) {
        auto const& first = broken.front();
        bool const unknown = first.code == Errc::not_found;
        return Error{first.code,
                     unknown ? first.message : fmt::format("{}: {}", first.key, first.message)};
    }
    OSORA_TRY(auto const named, model_shape(model.arch));
    return with_sizes(model, named);
}

}  // namespace osora::plan
