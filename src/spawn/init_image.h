// Runs in: supervisor. The init program (init.cc), as bytes.
#pragma once

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): symbols of an assembler file
extern const char cordon_init_image[];
extern const char cordon_init_image_end[];
// NOLINTEND(readability-identifier-naming)
}
