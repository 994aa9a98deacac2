# find_package(xxHash): the target xxHash::xxhash. Distributions bring xxHash without a file for
# CMake. It is installed beside elapseConfig.cmake, which needs it for the static library.
find_path(ELAPSE_XXHASH_INCLUDE_DIR xxhash.h)
find_library(ELAPSE_XXHASH_LIBRARY xxhash)
mark_as_advanced(ELAPSE_XXHASH_INCLUDE_DIR ELAPSE_XXHASH_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(xxHash
    REQUIRED_VARS ELAPSE_XXHASH_LIBRARY ELAPSE_XXHASH_INCLUDE_DIR)
if(xxHash_FOUND AND NOT TARGET xxHash::xxhash)
    add_library(xxHash::xxhash UNKNOWN IMPORTED)
    set_target_properties(xxHash::xxhash PROPERTIES
        IMPORTED_LOCATION ${ELAPSE_XXHASH_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${ELAPSE_XXHASH_INCLUDE_DIR})
endif()
