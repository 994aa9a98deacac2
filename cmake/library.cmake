# The library, out of the objects of its rooms: elapse::static,
# elapse::shared, and elapse::elapse for the one that BUILD_SHARED_LIBS asks for, or else
# the one there is.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# The versions that a program may change between without being built again: while the
# major version is 0 those of one minor version, later those of one major version.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(elapse_abi_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    set(elapse_compatibility SameMinorVersion)
else()
    set(elapse_abi_version ${PROJECT_VERSION_MAJOR})
    set(elapse_compatibility SameMajorVersion)
endif()

# elapse_add_library(KIND): the library of this kind, `static` or `shared`.
function(elapse_add_library kind)
    string(TOUPPER ${kind} type)
    get_property(rooms GLOBAL PROPERTY elapse_rooms)
    add_library(elapse-${kind} ${type})
    foreach(room IN LISTS rooms)
        target_sources(elapse-${kind} PRIVATE $<TARGET_OBJECTS:${room}>)
    endforeach()
    add_library(elapse::${kind} ALIAS elapse-${kind})
    target_include_directories(elapse-${kind} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    target_link_libraries(elapse-${kind} PRIVATE
        Threads::Threads
        $<BUILD_INTERFACE:elapse_compile_options>)
    set_target_properties(elapse-${kind} PROPERTIES
        OUTPUT_NAME elapse
        EXPORT_NAME ${kind}
        LINKER_LANGUAGE C)
endfunction()

if(ELAPSE_STATIC)
    elapse_add_library(static)
endif()

if(ELAPSE_SHARED)
    elapse_add_library(shared)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/elapse.map.in ${PROJECT_BINARY_DIR}/elapse.map @ONLY)
    target_link_options(elapse-shared PRIVATE
        "LINKER:--version-script=${PROJECT_BINARY_DIR}/elapse.map")
    set_target_properties(elapse-shared PROPERTIES
        VERSION ${PROJECT_VERSION}
        SOVERSION ${elapse_abi_version}
        LINK_DEPENDS ${PROJECT_BINARY_DIR}/elapse.map)
    # What a sanitizer or the fuzzer calls is in the program alone.
    if(NOT ELAPSE_SANITIZE AND NOT ELAPSE_FUZZ)
        target_link_options(elapse-shared PRIVATE LINKER:-z,defs)
    endif()
endif()

if(ELAPSE_SHARED AND (BUILD_SHARED_LIBS OR NOT ELAPSE_STATIC))
    set(elapse_kind shared)
elseif(ELAPSE_STATIC)
    set(elapse_kind static)
else()
    message(FATAL_ERROR "ELAPSE_STATIC and ELAPSE_SHARED are both OFF: there is no library to build")
endif()
add_library(elapse ALIAS elapse-${elapse_kind})
add_library(elapse::elapse ALIAS elapse-${elapse_kind})
