// The certificate's names and dates mean nothing: only its fingerprint counts.
#include "daemon/net/tls_identity.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <span>

namespace osora::daemon {
namespace {

constexpr long kDays = 36500;

/// osora encrypts no key, so an encrypted key is not its own: nobody is asked for a password.
int no_password(char*, int, int, void*) {
    return 0;
}

struct FreeBio {
    void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

bool sign(X509* certificate, EVP_PKEY* key) {
    unsigned char const name[] = "osora controller";
    X509_NAME* const subject = X509_get_subject_name(certificate);
    return X509_set_version(certificate, 2) == 1 &&
           ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -24L * 3600) != nullptr &&
           X509_time_adj_ex(X509_getm_notAfter(certificate), kDays, 0, nullptr) != nullptr &&
           X509_set_pubkey(certificate, key) == 1 &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate, subject) == 1 &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

}  // namespace

void FreeCertificate::operator()(X509* certificate) const {
    X509_free(certificate);
}

void FreeKey::operator()(EVP_PKEY* key) const {
    EVP_PKEY_free(key);
}

Error tls_error(std::string_view what) {
    unsigned long const code = ERR_get_error();
    char const* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    ERR_clear_error();
    return {Errc::io, fmt::format("{}: {}", what, reason == nullptr ? "unknown error" : reason)};
}

std::string fingerprint_of(X509* certificate) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return "";
    std::string text;
    for (unsigned char const byte : std::span(digest).first(size)) {
        text += fmt::format("{:02x}", byte);
    }
    return text;
}

TlsIdentity::TlsIdentity(TlsKey key, TlsCertificate certificate)
    : key_(std::move(key)),
      certificate_(std::move(certificate)),
      fingerprint_(fingerprint_of(certificate_.get())) {}

Result<TlsIdentity> TlsIdentity::make() {
    TlsKey key(EVP_EC_gen("P-256"));
    if (!key) return tls_error("make a key");
    TlsCertificate certificate(X509_new());
    if (!certificate || !sign(certificate.get(), key.get())) return tls_error("sign a certificate");
    return TlsIdentity(std::move(key), std::move(certificate));
}

Result<TlsIdentity> TlsIdentity::from_pem(std::string_view pem) {
    Bio const bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    if (!bio) return tls_error("read a key");
    TlsKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
    TlsCertificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    bool const whole =
        key && certificate && X509_check_private_key(certificate.get(), key.get()) == 1;
    if (!whole) {
        ERR_clear_error();
        return Error{Errc::invalid_input, "not a key with its certificate"};
    }
    return TlsIdentity(std::move(key), std::move(certificate));
}

Result<std::string> TlsIdentity::to_pem() const {
    Bio const bio(BIO_new(BIO_s_mem()));
    bool const wrote = bio &&
                       PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                                nullptr) == 1 &&
                       PEM_write_bio_X509(bio.get(), certificate_.get()) == 1;
    if (!wrote) return tls_error("write a key");
    char* text = nullptr;
    long const size = BIO_get_mem_data(bio.get(), &text);
    return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace osora::daemon
