# The library of the durable queue, out of the objects of its rooms: elapse::queue-static,
# elapse::queue-shared, and elapse::queue for the kind that elapse::elapse is. Each links with the
# library elapse of its own kind, and with xxHash.

# elapse_add_queue_library(KIND ROOM...): the library of this kind, `static` or `shared`.
function(elapse_add_queue_library kind)
    string(TOUPPER ${kind} type)
    add_library(elapse-queue-${kind} ${type})
    foreach(room IN LISTS ARGN)
        target_sources(elapse-queue-${kind} PRIVATE $<TARGET_OBJECTS:${room}>)
    endforeach()
    add_library(elapse::queue-${kind} ALIAS elapse-queue-${kind})
    target_link_libraries(elapse-queue-${kind}
        PUBLIC elapse-${kind}
        PRIVATE
            Threads::Threads
            $<BUILD_INTERFACE:elapse_xxhash>
            $<INSTALL_INTERFACE:xxHash::xxhash>
            $<BUILD_INTERFACE:elapse_compile_options>)
    set_target_properties(elapse-queue-${kind} PROPERTIES
        OUTPUT_NAME elapse-queue
        EXPORT_NAME queue-${kind}
        LINKER_LANGUAGE C)
endfunction()

get_property(elapse_rooms_of_queue GLOBAL PROPERTY elapse_queue_rooms)
if(ELAPSE_STATIC)
    elapse_add_queue_library(static ${elapse_rooms_of_queue})
endif()

# The shared library has a copy of base and os for itself, because the shared library elapse shows
# public functions alone: docs/decisions/0011-queue-library.md.
if(ELAPSE_SHARED)
    elapse_add_queue_library(shared ${elapse_rooms_of_queue} elapse-base elapse-os)
    elapse_make_shared(elapse-queue-shared ELAPSE_QUEUE elapse-queue.map)
endif()

add_library(elapse_queue ALIAS elapse-queue-${elapse_kind})

# What uses more of it than its public functions needs the static one, which hides nothing.
if(TARGET elapse-queue-static)
    include(${CMAKE_CURRENT_LIST_DIR}/whole_program.cmake)
elseif(ELAPSE_TOOL)
    message(FATAL_ERROR "The program uses more than a shared library shows: without ELAPSE_STATIC give -DELAPSE_TOOL=OFF, too")
endif()
add_library(elapse::queue ALIAS elapse-queue-${elapse_kind})
