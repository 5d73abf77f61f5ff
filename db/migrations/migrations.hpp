// The numbered steps from an empty file to the current schema. A released step never changes; a
// later one alters its result.
#pragma once

#include <array>

namespace osora::db {

extern char const* const k0001Runs;
extern char const* const k0002RankCpus;
extern char const* const k0003Health;
extern char const* const k0004RankMatrix;
extern char const* const k0005Probe;
extern char const* const k0006Views;
extern char const* const k0007Derived;
extern char const* const k0008Collectives;
extern char const* const k0009Attempts;
extern char const* const k0010ShardSize;
extern char const* const k0011SpKind;
extern char const* const k0012BatchCurve;
extern char const* const k0013Tokens;
extern char const* const k0014StageStep;
extern char const* const k0015StageWork;

/// Step i brings `PRAGMA user_version` from i to i + 1.
inline std::array<char const* const*, 15> const kMigrations{
    &k0001Runs,   &k0002RankCpus,   &k0003Health,      &k0004RankMatrix, &k0005Probe,
    &k0006Views,  &k0007Derived,    &k0008Collectives, &k0009Attempts,   &k0010ShardSize,
    &k0011SpKind, &k0012BatchCurve, &k0013Tokens,      &k0014StageStep,  &k0015StageWork};

/// "OSOR": distinguishes history.db from the database of another program.
constexpr int kApplicationId = 0x4f534f52;

}  // namespace osora::db
