# What the toolchains for other machines share. Before this is included:
#   ELAPSE_TRIPLE    what the tools of the machine are called after
#   ELAPSE_COMPILER  gcc or clang
#   ELAPSE_EMULATOR  the program that runs the machine's programs; empty: this one does
# Programs are static, so that they run wherever they are carried.
set(CMAKE_SYSTEM_NAME Linux)

if(ELAPSE_COMPILER STREQUAL "clang")
    # It finds the C library beside the binutils and libgcc of the machine's gcc.
    set(CMAKE_C_COMPILER clang)
    set(CMAKE_C_COMPILER_TARGET ${ELAPSE_TRIPLE})
else()
    set(CMAKE_C_COMPILER ${ELAPSE_TRIPLE}-gcc)
endif()
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
if(ELAPSE_EMULATOR)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${ELAPSE_EMULATOR})
endif()

set(CMAKE_FIND_ROOT_PATH /usr/${ELAPSE_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
