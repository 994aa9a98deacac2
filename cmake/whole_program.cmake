# elapse_whole: what the program links with, all rooms of both libraries. With ELAPSE_LTO the rooms are
# compiled once more for it, and optimised together with the server; the libraries, which are
# installed, stay free of what only this compiler understands. Otherwise these libraries are it.

# Tests link with single rooms.
set(elapse_optimises_whole OFF)
if(ELAPSE_LTO AND NOT ELAPSE_TESTS)
    set(elapse_optimises_whole ON)
endif()

# elapse_optimise_whole(TARGET...): these targets are optimised together when the program is linked.
function(elapse_optimise_whole)
    if(elapse_optimises_whole)
        set_target_properties(${ARGN} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
    endif()
endfunction()

# elapse_compile_again(ROOM COPY): the object library COPY has the sources and settings of ROOM.
function(elapse_compile_again room copy)
    get_target_property(sources ${room} SOURCES)
    get_target_property(directory ${room} SOURCE_DIR)
    list(TRANSFORM sources PREPEND ${directory}/)
    add_library(${copy} OBJECT EXCLUDE_FROM_ALL ${sources})
    foreach(property IN ITEMS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_LIBRARIES
            C_VISIBILITY_PRESET C_EXTENSIONS POSITION_INDEPENDENT_CODE)
        get_target_property(value ${room} ${property})
        if(NOT value MATCHES "-NOTFOUND$")
            set_target_properties(${copy} PROPERTIES ${property} "${value}")
        endif()
    endforeach()
    elapse_optimise_whole(${copy})
endfunction()

if(elapse_optimises_whole)
    include(CheckIPOSupported)
    check_ipo_supported(RESULT elapse_has_lto OUTPUT elapse_lto_fault LANGUAGES C)
    if(NOT elapse_has_lto)
        message(FATAL_ERROR "ELAPSE_LTO: this compiler cannot: ${elapse_lto_fault}")
    endif()
    add_library(elapse-whole STATIC EXCLUDE_FROM_ALL)
    get_property(elapse_rooms_of_elapse GLOBAL PROPERTY elapse_rooms)
    foreach(room IN LISTS elapse_rooms_of_elapse elapse_rooms_of_queue)
        elapse_compile_again(${room} ${room}-whole)
        target_sources(elapse-whole PRIVATE $<TARGET_OBJECTS:${room}-whole>)
    endforeach()
    target_include_directories(elapse-whole PUBLIC ${PROJECT_SOURCE_DIR}/include)
    if(ELAPSE_WHEEL_SMALL)
        target_compile_definitions(elapse-whole PUBLIC ELAPSE_WHEEL_SMALL)
    endif()
    target_link_libraries(elapse-whole PUBLIC Threads::Threads elapse_xxhash PRIVATE elapse_compile_options)
    set_target_properties(elapse-whole PROPERTIES LINKER_LANGUAGE C)
    add_library(elapse_whole ALIAS elapse-whole)
else()
    add_library(elapse_whole ALIAS elapse-queue-static)
endif()
