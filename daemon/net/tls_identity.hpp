// The identity that a controller shows its agents: an ECDSA key (P-256) with a self-signed
// certificate. Agents get the certificate's fingerprint from the process that started them, so no
// authority is needed.
#pragma once

#include "base/result.hpp"

#include <memory>
#include <string>
#include <string_view>

using X509 = struct x509_st;  // as in OpenSSL's headers
using EVP_PKEY = struct evp_pkey_st;

namespace osora::daemon {

struct FreeCertificate {
    void operator()(X509* certificate) const;
};
struct FreeKey {
    void operator()(EVP_PKEY* key) const;
};
using TlsCertificate = std::unique_ptr<X509, FreeCertificate>;
using TlsKey = std::unique_ptr<EVP_PKEY, FreeKey>;

class TlsIdentity {
public:
    /// A new key. Errors: those of OpenSSL.
    [[nodiscard]] static Result<TlsIdentity> make();
    /// Parses what to_pem() returned; invalid_input for anything else.
    [[nodiscard]] static Result<TlsIdentity> from_pem(std::string_view pem);
    /// Key and certificate: a secret.
    [[nodiscard]] Result<std::string> to_pem() const;

    [[nodiscard]] std::string const& fingerprint() const { return fingerprint_; }
    [[nodiscard]] X509* certificate() const { return certificate_.get(); }
    [[nodiscard]] EVP_PKEY* key() const { return key_.get(); }

private:
    TlsIdentity(TlsKey key, TlsCertificate certificate);

    TlsKey key_;
    TlsCertificate certificate_;
    std::string fingerprint_;
};

/// SHA-256 of the certificate in DER, 64 hex digits.
[[nodiscard]] std::string fingerprint_of(X509* certificate);

/// "WHAT: why" from OpenSSL's error queue, which is then empty.
[[nodiscard]] Error tls_error(std::string_view what);

}  // namespace osora::daemon
