// The part of macOS's <sandbox.h> that Cordon uses, so that its macOS sources
// can be checked where there is none.
#pragma once
#include <stdint.h>

extern "C" void sandbox_free_error(char* errorbuf);
