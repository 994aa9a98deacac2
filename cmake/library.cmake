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
    if(ELAPSE_WHEEL_SMALL) # the struct in the header follows it
        target_compile_definitions(elapse-${kind} PUBLIC ELAPSE_WHEEL_SMALL)
    endif()
    target_link_libraries(elapse-${kind} PRIVATE
        Threads::Threads
        $<BUILD_INTERFACE:elapse_compile_options>)
    set_target_properties(elapse-${kind} PROPERTIES
        OUTPUT_NAME elapse
        EXPORT_NAME ${kind}
        LINKER_LANGUAGE C)
endfunction()

# elapse_make_shared(LIBRARY NAME MAP): its version, and that it shows public functions alone, under
# the version NAME. MAP is the file that says so to the linker.
function(elapse_make_shared library name map)
    set(elapse_map_name ${name}_${elapse_abi_version})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/elapse.map.in ${PROJECT_BINARY_DIR}/${map} @ONLY)
    target_link_options(${library} PRIVATE
        "LINKER:--version-script=${PROJECT_BINARY_DIR}/${map}")
    set_target_properties(${library} PROPERTIES
        VERSION ${PROJECT_VERSION}
        SOVERSION ${elapse_abi_version}
        LINK_DEPENDS ${PROJECT_BINARY_DIR}/${map})
    # What a sanitizer or the fuzzer calls is in the program alone.
    if(NOT ELAPSE_SANITIZE AND NOT ELAPSE_FUZZ)
        target_link_options(${library} PRIVATE LINKER:-z,defs)
    endif()
endfunction()

if(ELAPSE_STATIC)
    elapse_add_library(static)
endif()

if(ELAPSE_SHARED)
    elapse_add_library(shared)
    elapse_make_shared(elapse-shared ELAPSE elapse.map)
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
