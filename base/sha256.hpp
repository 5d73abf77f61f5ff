// SHA-256 as 64 hex digits: names content (fingerprints, the work of a series).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace osora {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// The same for bytes that arrive in parts.
class Sha256 {
public:
    Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    ~Sha256();

    void add(std::span<unsigned char const> bytes);
    /// Of everything that was added; nothing may be added after it.
    [[nodiscard]] std::string finish();

private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace osora
