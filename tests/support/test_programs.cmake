# How the test programs are built, and how the tests are run.

set(ELAPSE_TEST_SUPPORT_DIR ${CMAKE_CURRENT_LIST_DIR})

# Sanitizers, the counting of branches and emulators are slow.
set(ELAPSE_TESTS_ARE_SLOW OFF)
if(ELAPSE_SANITIZE OR ELAPSE_COVERAGE OR CMAKE_CROSSCOMPILING)
    set(ELAPSE_TESTS_ARE_SLOW ON)
endif()

# Each test runs below watch-test (watch/watch.c), which ends it if it hangs or uses too much processor
# time.
set(ELAPSE_WATCH ${PROJECT_BINARY_DIR}/watch-test)

# elapse_test(NAME name LABELS label... COMMAND command argument...
#     [LONG] [RANDOMISED] [MAY_SKIP] [PROCESSOR_S n]
#     [ENVIRONMENT variable=value...] [PROPERTIES property value...])
#
# Adds a test. The command may begin with the name of a program of the project.
#
# LONG: the label long puts the test into the second tier, `./dev test --all`.
# RANDOMISED: a fault that a sanitizer finds ends the program by a signal, so that it can shrink it.
# MAY_SKIP: the exit status 77 means that the test was skipped. Its last line says why.
# PROCESSOR_S: the limit of processor time, 300 unless it is given; three times as much where tests are
#     slow.
#
# The processor-seconds that a test uses are in the file used/ROOM/NAME of the build directory;
# scripts/summary.py sums them up.
function(elapse_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "LONG;RANDOMISED;MAY_SKIP" "NAME;PROCESSOR_S"
        "LABELS;COMMAND;ENVIRONMENT;PROPERTIES")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_LABELS OR NOT arg_COMMAND)
        message(FATAL_ERROR "elapse_test(${ARGN}): it lacks a part, or has an unknown one")
    endif()
    list(GET arg_COMMAND 0 program)
    if(TARGET ${program})
        get_target_property(imported ${program} IMPORTED)
        list(REMOVE_AT arg_COMMAND 0)
        list(PREPEND arg_COMMAND $<TARGET_FILE:${program}>)
        if(NOT imported)
            list(PREPEND arg_COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR})
        endif()
    endif()

    file(RELATIVE_PATH room ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    string(REGEX REPLACE "^tests/" "" room ${room})
    string(REGEX REPLACE "/.*" "" room ${room})
    set(used ${PROJECT_BINARY_DIR}/used/${room})
    file(MAKE_DIRECTORY ${used})

    if(NOT arg_PROCESSOR_S)
        set(arg_PROCESSOR_S 300)
    endif()
    if(ELAPSE_TESTS_ARE_SLOW)
        math(EXPR arg_PROCESSOR_S "3 * ${arg_PROCESSOR_S}")
    endif()
    add_test(NAME ${arg_NAME}
        COMMAND ${ELAPSE_WATCH} --processor-s ${arg_PROCESSOR_S} --report ${used}/${arg_NAME}
            -- ${arg_COMMAND}
        COMMAND_EXPAND_LISTS)

    if(arg_LONG)
        list(APPEND arg_LABELS long)
    endif()
    if(arg_RANDOMISED)
        list(APPEND arg_ENVIRONMENT ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=abort_on_error=1)
    endif()
    if(arg_MAY_SKIP)
        list(APPEND arg_PROPERTIES SKIP_RETURN_CODE 77)
    endif()
    # The limit of CTest is a wall clock. watch-test knows better, so it is far away: it ends what only
    # seems to work.
    set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 14400
        ENVIRONMENT "${arg_ENVIRONMENT}" ${arg_PROPERTIES})
endfunction()

# elapse_topic_tests(PREFIX LABELS label... TOPICS topic... [SOURCES source...]
#     [INCLUDES directory...] [LIBRARIES library...])
#
# Adds one test by cmocka for each topic: PREFIX_TOPIC, of the program PREFIX-TOPIC, which is
# TOPIC_test.c with the sources. The folders of INCLUDES are those below the root of the project.
function(elapse_topic_tests prefix)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;TOPICS;SOURCES;INCLUDES;LIBRARIES")
    list(TRANSFORM arg_INCLUDES PREPEND ${PROJECT_SOURCE_DIR}/)
    string(REPLACE "_" "-" program ${prefix})
    foreach(topic IN LISTS arg_TOPICS)
        add_executable(${program}-${topic} ${topic}_test.c ${arg_SOURCES})
        target_include_directories(${program}-${topic} PRIVATE ${arg_INCLUDES})
        target_include_directories(${program}-${topic} SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})
        target_link_libraries(${program}-${topic}
            PRIVATE ${arg_LIBRARIES} ${CMOCKA_LIBRARIES} elapse_compile_options)
        elapse_test(NAME ${prefix}_${topic} LABELS ${arg_LABELS} COMMAND ${program}-${topic})
    endforeach()
endfunction()

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
    endif()
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE ${library}-test-support)
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
endfunction()
