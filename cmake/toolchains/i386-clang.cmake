# 32 bits, little-endian. An x86-64 machine runs it itself.
set(CMAKE_SYSTEM_PROCESSOR i686)
set(ELAPSE_TRIPLE i686-linux-gnu)
set(ELAPSE_COMPILER clang)
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "^(x86_64|i.86)$")
    set(ELAPSE_EMULATOR qemu-i386)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
