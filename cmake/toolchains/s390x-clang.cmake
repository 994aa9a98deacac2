# 64 bits, big-endian.
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(ELAPSE_TRIPLE s390x-linux-gnu)
set(ELAPSE_COMPILER clang)
set(ELAPSE_EMULATOR qemu-s390x)
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
