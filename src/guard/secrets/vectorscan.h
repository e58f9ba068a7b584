// Vectorscan's runtime. Debian's library picks its code for this processor by ifuncs,
// which the start of every program pays for (in a virtual machine a CPUID costs
// microseconds). Here it is picked when it is needed.
#pragma once

#include <hs/hs_runtime.h>

namespace cordon::guard {

struct Vectorscan {
  decltype(&hs_deserialize_database) deserialize;
  decltype(&hs_free_database) free_database;
  decltype(&hs_scan) scan;
};

const Vectorscan& ChosenVectorscan();

}  // namespace cordon::guard
