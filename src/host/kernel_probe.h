// What the kernel itself has, tried: system calls, Landlock, seccomp, and what
// a launch by root needs.
#pragma once

#include "host/doctor.h"

namespace cordon::host {

Finding ExamineSystemCalls();
Finding ExamineLandlock();
Finding ExamineSeccompNotify();
Finding ExamineSyncWakeUp();
Finding ExaminePidfdGetfd();
Finding ExamineIdmappedMounts();  // of the current directory; for root

// Pure. `abi` 0: none, with `error` of the probe.
Finding LandlockFinding(int abi, int error);

}  // namespace cordon::host
