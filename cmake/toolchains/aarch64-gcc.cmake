# 64 bits, little-endian, weakly ordered memory.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ELAPSE_TRIPLE aarch64-linux-gnu)
set(ELAPSE_COMPILER gcc)
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(ELAPSE_EMULATOR qemu-aarch64)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
