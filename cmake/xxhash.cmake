# elapse_xxhash: xxHash, for checksums. It is linked; other machines, for which there is no such
# library, get the functions from the header of this machine.
add_library(elapse_xxhash INTERFACE)
if(CMAKE_CROSSCOMPILING)
    find_file(ELAPSE_XXHASH_HEADER xxhash.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
    configure_file(${ELAPSE_XXHASH_HEADER} ${PROJECT_BINARY_DIR}/xxhash/xxhash.h COPYONLY)
    target_include_directories(elapse_xxhash SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/xxhash)
    target_compile_definitions(elapse_xxhash INTERFACE XXH_INLINE_ALL)
else()
    list(PREPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
    find_package(xxHash REQUIRED)
    list(REMOVE_AT CMAKE_MODULE_PATH 0)
    target_link_libraries(elapse_xxhash INTERFACE xxHash::xxhash)
endif()
