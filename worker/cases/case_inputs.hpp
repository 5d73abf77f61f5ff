// The inputs of a case, in/NAME or in/VARIANT/NAME, taken by name with the required type and shape.
// Unused inputs are errors too.
#pragma once

#include "worker/cases/case_file.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

struct Expected {
    enum class Kind { real, whole, number };  // floating point; integers or booleans; either
    Kind kind;
    std::vector<std::int64_t> shape;  // -1: any size from 1
};
[[nodiscard]] inline Expected real(std::vector<std::int64_t> shape) {
    return {Expected::Kind::real, std::move(shape)};
}
[[nodiscard]] inline Expected whole(std::vector<std::int64_t> shape) {
    return {Expected::Kind::whole, std::move(shape)};
}
[[nodiscard]] inline Expected number(std::vector<std::int64_t> shape) {
    return {Expected::Kind::number, std::move(shape)};
}

class CaseInputs {
public:
    /// `file` must outlive this object.
    explicit CaseInputs(CaseFile const& file);

    /// Variants with separate inputs, in order; {""} if there is none.
    [[nodiscard]] std::vector<std::string> const& variants() const { return variants_; }
    /// Whether any variant has an input of this name.
    [[nodiscard]] bool has(std::string_view name) const;

    /// The variant's own input or else the shared one; an Error names what is missing or wrong.
    [[nodiscard]] Result<at::Tensor> need(std::string_view variant, std::string_view name,
                                          Expected const& expected);
    /// Undefined when there is none.
    [[nodiscard]] Result<at::Tensor> maybe(std::string_view variant, std::string_view name,
                                           Expected const& expected);

    /// An error that names the unused inputs.
    [[nodiscard]] Result<void> finish() const;

private:
    CaseFile const& file_;
    std::vector<std::string> variants_;
    std::set<std::string, std::less<>> taken_, asked_;  // whole names; names after the variant
};

/// "out/NAME" or "out/VARIANT/NAME"; `group` is "out", "grad", "grad_in".
[[nodiscard]] std::string case_name(std::string_view group, std::string_view variant,
                                    std::string_view name);

}  // namespace osora::worker
