# Warnings and hardening for every target of the project.
add_library(cordon_warnings INTERFACE)
add_library(cordon_flags INTERFACE)
target_link_libraries(cordon_flags INTERFACE cordon_warnings)
target_compile_options(cordon_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  -Wimplicit-fallthrough -Wno-missing-field-initializers -Wundef -fstack-protector-strong -fno-strict-aliasing)
if(CORDON_WERROR)
  target_compile_options(cordon_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12 in optimised standard library code.
  target_compile_options(cordon_warnings INTERFACE -Wno-restrict -Wno-array-bounds
    -Wno-stringop-overflow -Wno-maybe-uninitialized -Wno-mismatched-new-delete)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # What libstdc++ calls deprecated, it uses itself.
  target_compile_options(cordon_warnings INTERFACE -Wno-deprecated-declarations)
endif()
target_compile_definitions(cordon_flags INTERFACE _GLIBCXX_ASSERTIONS FMT_HEADER_ONLY)
if(CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  target_compile_options(cordon_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
    -ffunction-sections -fdata-sections)
endif()
if(CORDON_SANITIZE)
  target_compile_options(cordon_flags INTERFACE -fsanitize=${CORDON_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(cordon_flags INTERFACE -fsanitize=${CORDON_SANITIZE})
  set(CORDON_STATIC OFF)
endif()
if(CORDON_FUZZERS)
  target_compile_options(cordon_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_link_options(cordon_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--gc-sections)
find_package(Threads REQUIRED)
target_link_libraries(cordon_flags INTERFACE Threads::Threads)
