# How tests are registered. Labels: `unit` (pure, no kernel features), `sandbox`
# (real kernel), `soak` (long; ./dev soak). A `sandbox` or `soak` test X has a
# twin X.user: when ctest runs as root, the twin runs X as an ordinary user
# (tests/as_user.py), after X, so that what X downloads is there; when it does not,
# there is no twin, for X is that already.
find_package(GTest REQUIRED)
# Debian's own python: one in root's home is out of reach for the twin.
find_program(CORDON_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
set(CORDON_TEST_BIN "" CACHE FILEPATH "The cordon that tests run (empty: the one of this build)")

# Runs at the start of each ctest: CORDON_AS_ROOT is for the twins' files.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/who.cmake
  "execute_process(COMMAND id -u OUTPUT_VARIABLE CORDON_UID OUTPUT_STRIP_TRAILING_WHITESPACE)\n")
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/who.cmake)

# Every test finds the checkout and the binaries by its environment, never by
# a path compiled in: the twin may run on a copy of them.
function(cordon_test_environment out)
  set(bin ${CORDON_TEST_BIN})
  if(NOT bin AND TARGET cordon)
    set(bin $<TARGET_FILE:cordon>)
  endif()
  set(${out}
    CORDON_BIN=${bin}
    CORDON_RELEASE_BIN=${PROJECT_SOURCE_DIR}/build/release/cordon
    CORDON_SOURCE_DIR=${PROJECT_SOURCE_DIR}
    CORDON_BUILD_DIR=${PROJECT_BINARY_DIR}
    PARENT_SCOPE)
endfunction()

# cordon_add_test(NAME LABEL COMMAND ARG...): one test that exits 0 (passed) or
# 77 (skipped, with the reason printed).
function(cordon_add_test name label)
  cordon_test_environment(environment)
  set(timeout 300)
  if(label STREQUAL "soak")
    set(timeout 7200)
  endif()
  set(properties LABELS ${label} TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES ${properties} ENVIRONMENT "${environment}")
  if(label STREQUAL "unit")
    return()
  endif()

  list(GET ARGN 0 command)
  if(TARGET ${command})
    list(POP_FRONT ARGN)
    list(PREPEND ARGN $<TARGET_FILE:${command}>)
  endif()
  list(JOIN ARGN "]==] [==[" arguments)
  list(JOIN properties " " properties)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}.user.cmake)
  file(GENERATE OUTPUT ${file} CONTENT "if(CORDON_UID EQUAL 0)
  add_test([==[${name}.user]==] ${CORDON_PYTHON} ${PROJECT_SOURCE_DIR}/tests/as_user.py -- [==[${arguments}]==])
  set_tests_properties([==[${name}.user]==] PROPERTIES ${properties} DEPENDS ${name} ENVIRONMENT [==[${environment}]==])
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# cordon_test(NAME LABEL LIBS... SOURCES...): one gtest binary.
function(cordon_test name label)
  cmake_parse_arguments(ARG "" "" "LIBS;SOURCES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gmock_main)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # g++ 12 is wrong about constants in tests
    target_compile_options(${name} PRIVATE -Wno-stringop-overread)
  endif()
  cordon_add_test(${name} ${label} ${name})
endfunction()

# cordon_script_test(NAME LABEL SCRIPT ARG...): a python script of tests/.
function(cordon_script_test name label script)
  cordon_add_test(${name} ${label} ${CORDON_PYTHON} ${PROJECT_SOURCE_DIR}/tests/${script} ${ARGN})
endfunction()
