# How the test programs are built.

set(ELAPSE_TEST_SUPPORT_DIR ${CMAKE_CURRENT_LIST_DIR})

# After this many seconds ctest ends a test that hangs. Every test has this one limit, which no
# sound test comes near: the longest takes a minute on a busy machine. The fewer processors there
# are (nproc honours taskset), the longer other programs keep a test waiting; sanitizers and
# emulators are slow in themselves.
execute_process(COMMAND nproc OUTPUT_VARIABLE processors OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
if(NOT processors MATCHES "^[1-9][0-9]*$")
    set(processors 1)
endif()
math(EXPR ELAPSE_TEST_TIMEOUT_S "120 + 360 / ${processors}")
if(ELAPSE_SANITIZE OR ELAPSE_COVERAGE OR CMAKE_CROSSCOMPILING)
    math(EXPR ELAPSE_TEST_TIMEOUT_S "${ELAPSE_TEST_TIMEOUT_S} * 2")
endif()
unset(processors)

# elapse_test_program(NAME LIBRARY SOURCE...): a program linked with LIBRARY, and with
# what the programs share, compiled once for each library because it depends on the
# geometry.
function(elapse_test_program name library)
    if(NOT TARGET ${library}-test-support)
        add_library(${library}-test-support STATIC
            ${ELAPSE_TEST_SUPPORT_DIR}/growth.c
            ${ELAPSE_TEST_SUPPORT_DIR}/kind.c
            ${ELAPSE_TEST_SUPPORT_DIR}/oracle.c
            ${ELAPSE_TEST_SUPPORT_DIR}/operation.c
            ${ELAPSE_TEST_SUPPORT_DIR}/released.c
            ${ELAPSE_TEST_SUPPORT_DIR}/trial.c
            ${ELAPSE_TEST_SUPPORT_DIR}/trial_inspect.c)
        target_include_directories(${library}-test-support PUBLIC ${ELAPSE_TEST_SUPPORT_DIR})
        target_compile_definitions(${library}-test-support PUBLIC _DEFAULT_SOURCE)
        target_link_libraries(${library}-test-support PUBLIC ${library} elapse_compile_options)
        set_target_properties(${library}-test-support PROPERTIES C_EXTENSIONS OFF)
    endif()
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE ${library}-test-support)
    set_target_properties(${name} PROPERTIES C_EXTENSIONS OFF)
endfunction()

# elapse_scheduler_test_program(NAME LIBRARY SOURCE...): the same, with cmocka and the fixture of the
# tests of the scheduler, compiled once for each library too.
function(elapse_scheduler_test_program name library)
    if(NOT TARGET ${library}-scheduler-fixture)
        add_library(${library}-scheduler-fixture STATIC
            ${PROJECT_SOURCE_DIR}/tests/scheduler/fixture.c
            ${ELAPSE_TEST_SUPPORT_DIR}/asleep.c
            ${ELAPSE_TEST_SUPPORT_DIR}/fake_os.c)
        target_include_directories(${library}-scheduler-fixture PUBLIC ${ELAPSE_TEST_SUPPORT_DIR})
        target_include_directories(${library}-scheduler-fixture SYSTEM PUBLIC ${CMOCKA_INCLUDE_DIR})
        target_compile_definitions(${library}-scheduler-fixture PUBLIC _DEFAULT_SOURCE)
        target_link_libraries(${library}-scheduler-fixture
            PUBLIC ${library} ${CMOCKA_LIBRARIES} elapse_compile_options)
        set_target_properties(${library}-scheduler-fixture PROPERTIES C_EXTENSIONS OFF)
    endif()
    elapse_test_program(${name} ${library} ${ARGN})
    target_link_libraries(${name} PRIVATE ${library}-scheduler-fixture)
endfunction()

# elapse_geometry_library(NAME DEFINITION...): the structures, compiled again with
# other values of the private parameters.
function(elapse_geometry_library name)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/structures/*.c
        ${PROJECT_SOURCE_DIR}/src/base/assert.c)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(${name} PUBLIC ${ARGN})
    target_link_libraries(${name} PRIVATE elapse_compile_options)
    set_target_properties(${name} PROPERTIES C_EXTENSIONS OFF)
endfunction()

# elapse_randomised_test(NAME LABEL PROGRAM ARGUMENT...): a test that reports a crash
# found by a sanitizer as a signal, so that the program can shrink it.
function(elapse_randomised_test name label)
    if(label MATCHES "^[0-9]+$")
        message(FATAL_ERROR "${name}: all tests have one limit, ELAPSE_TEST_TIMEOUT_S; leave it out")
    endif()
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES
        LABELS ${label}
        TIMEOUT ${ELAPSE_TEST_TIMEOUT_S}
        ENVIRONMENT "ASAN_OPTIONS=abort_on_error=1;UBSAN_OPTIONS=abort_on_error=1")
endfunction()
