#include "base/secrets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora {
namespace {

TEST(Secrets, AreKnownByTheirNames) {
    for (char const* name :
         {"HF_TOKEN", "WANDB_API_KEY", "wandb_api_key", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD",
          "DB_PASS", "MYSQL_PWD", "SLURM_JWT", "PGPASSWD", "GOOGLE_CREDENTIALS", "HTTP_AUTH",
          "SESSION_COOKIE", "MY_PRIVATE_THING", "Mytoken", "SENTRY_DSN", "SLACK_WEBHOOK"}) {
        EXPECT_TRUE(is_secret_name(name)) << name;
    }
    for (char const* name : {"NCCL_IB_TC", "PATH", "OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM",
                             "NCCL_IB_PKEY", "UCX_IB_PKEY", "PWD", "COMPASS", "HOME", ""}) {
        EXPECT_FALSE(is_secret_name(name)) << name;
    }
}

TEST(Secrets, AreKnownByTheirForms) {
    for (char const* value :
         {"https://me:word@example.org/x", "postgres://u:p@db", "hf_abcdefGHIJKL0123",
          "sk-abcdef0123456789", "sk-proj-abc_def-0123", "ghp_0123456789abcdef",
          "github_pat_11ABC_def0123", "AKIAIOSFODNN7EXAMPLE",
          "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
          "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
          "x=1;token hf_abcdefGHIJKL0123", "Authorization: Bearer abcdefgh12"}) {
        EXPECT_TRUE(holds_token(value)) << value;
    }
    for (char const* value : {"https://example.org/a@b:c", "ssh://git@host/x", "hf_hub_download",
                              "sk-learn", "risk-averse-people", "eth0,eth1", "/home/me:/opt", "",
                              "the bearer of news", "2024-01-01T10:00:00"}) {
        EXPECT_FALSE(holds_token(value)) << value;
    }
}

TEST(Secrets, ADigestTellsOnlyWhetherValuesAreEqual) {
    auto const one = secret_digest("key", "sekrit-1");
    EXPECT_EQ(one, secret_digest("key", "sekrit-1"));
    EXPECT_NE(one, secret_digest("key", "sekrit-2"));
    EXPECT_NE(one, secret_digest("other key", "sekrit-1"));
    EXPECT_TRUE(is_secret_digest(one)) << one;
    // RFC 4231, test case 2.
    EXPECT_EQ(secret_digest("Jefe", "what do ya want for nothing?"), "sha256:5bdcc146bf60");
    for (char const* other :
         {"sha256:", "sha256:5bdcc146bf6", "sha256:5bdcc146bf6g", "5bdcc146bf60"})
        EXPECT_FALSE(is_secret_digest(other)) << other;
    EXPECT_EQ(shown_value("key", "HF_TOKEN", "sekrit-1"), one);
    EXPECT_EQ(shown_value("key", "HF_TOKEN", one), one);
    EXPECT_EQ(shown_value("key", "HF_TOKEN", ""), "");
    EXPECT_EQ(shown_value("key", "NCCL_IB_TC", "106"), "106");
    EXPECT_TRUE(is_secret_digest(shown_value("key", "PROXY", "http://a:b@c")));
}

TEST(Secrets, TextIsRedacted) {
    Redactor redactor;
    redactor.add("sekrit");
    redactor.add("sekrit-and-more");
    redactor.add("no");
    redactor.add("false");
    redactor.add({"HF_TOKEN=abcdefgh1", "PATH=/usr/bin/long", "API_KEY=short"});
    EXPECT_EQ(redactor.redact("key sekrit, sekrit-and-more; no false /usr/bin/long abcdefgh1"),
              "key [redacted], [redacted]; no false /usr/bin/long [redacted]");
    EXPECT_EQ(redactor.redact("GET https://me:word@host/p failed"),
              "GET https://[redacted]@host/p failed");
    EXPECT_EQ(redactor.redact("token hf_abcdefGHIJKL0123."), "token [redacted].");
    EXPECT_EQ(redactor.redact("WANDB_API_KEY=12 LANG=C"), "WANDB_API_KEY=[redacted] LANG=C");
    EXPECT_EQ(redactor.redact("a\n-----BEGIN RSA PRIVATE KEY-----\nMII\nCut"), "a\n[redacted]");
    EXPECT_EQ(redactor.redact("step 3 loss 0.25 key=7"), "step 3 loss 0.25 key=7");
    auto const once = redactor.redact("API_KEY=sekrit");
    EXPECT_EQ(redactor.redact(once), once);
}

}  // namespace
}  // namespace osora
