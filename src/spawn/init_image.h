// Runs in: supervisor. The init program (init.cc), as bytes.
#pragma once

extern "C" {
extern const char cordon_init_image[];
extern const char cordon_init_image_end[];
}
