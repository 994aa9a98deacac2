# elapse_compile_options: the options with which every target of the project is compiled.
# Targets that link with the library do not get them.
set(ELAPSE_C_STANDARD 11 CACHE STRING "The C standard: 11 or later")
set(CMAKE_C_STANDARD ${ELAPSE_C_STANDARD})
set(CMAKE_C_STANDARD_REQUIRED ON)
add_library(elapse_compile_options INTERFACE)
# A project around this one has warnings of its own, and may take them for errors.
if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(elapse_compile_options INTERFACE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
        -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wpointer-arith
        -Wvla -Wundef -Wwrite-strings)
endif()
# Where pointers have 32 bits, time and sizes of files have 64 all the same.
target_compile_definitions(elapse_compile_options INTERFACE _FILE_OFFSET_BITS=64 _TIME_BITS=64)
if(ELAPSE_WERROR)
    target_compile_options(elapse_compile_options INTERFACE -Werror)
endif()
if(ELAPSE_ASSERTIONS)
    target_compile_definitions(elapse_compile_options INTERFACE ELAPSE__ASSERTIONS)
endif()
if(ELAPSE_SANITIZE)
    target_compile_options(elapse_compile_options INTERFACE
        -fsanitize=${ELAPSE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(elapse_compile_options INTERFACE -fsanitize=${ELAPSE_SANITIZE})
endif()
if(ELAPSE_COVERAGE)
    target_compile_options(elapse_compile_options INTERFACE
        -fprofile-instr-generate -fcoverage-mapping)
    target_link_options(elapse_compile_options INTERFACE -fprofile-instr-generate)
endif()
