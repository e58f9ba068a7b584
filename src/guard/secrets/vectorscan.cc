#include "guard/secrets/vectorscan.h"

#ifdef __x86_64__

#define _Bool bool  // the header is C, and clang takes it at its word
#include <sys/platform/x86.h>
#undef _Bool

// Names of the library's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
decltype(hs_deserialize_database) core2_hs_deserialize_database;
decltype(hs_free_database) core2_hs_free_database;
decltype(hs_scan) core2_hs_scan;
decltype(hs_deserialize_database) avx2_hs_deserialize_database;
decltype(hs_free_database) avx2_hs_free_database;
decltype(hs_scan) avx2_hs_scan;

int core2_dbIsValid(const hs_database_t* database);
int dbIsValid(const hs_database_t* database);
}

// What hs_alloc_scratch asks for. Were it taken from the library, all its ifuncs and its code
// for every processor would come along.
int dbIsValid(const hs_database_t* database) { return core2_dbIsValid(database); }
// NOLINTEND(readability-identifier-naming)

namespace cordon::guard {

const Vectorscan& ChosenVectorscan() {
  static constexpr Vectorscan kOld = {core2_hs_deserialize_database, core2_hs_free_database,
                                      core2_hs_scan};
  static constexpr Vectorscan kNew = {avx2_hs_deserialize_database, avx2_hs_free_database,
                                      avx2_hs_scan};
  return CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(BMI2) ? kNew : kOld;
}

}  // namespace cordon::guard

#else

namespace cordon::guard {

const Vectorscan& ChosenVectorscan() {
  static constexpr Vectorscan kOnly = {hs_deserialize_database, hs_free_database, hs_scan};
  return kOnly;
}

}  // namespace cordon::guard

#endif
