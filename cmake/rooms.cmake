# The rooms of the library: each folder of src/ is an object library, and these together are the
# library. tests/project/lint/rooms.txt tells which room may use which.

# elapse_add_room(NAME SOURCE...): the object library elapse-NAME.
function(elapse_add_room name)
    add_library(elapse-${name} OBJECT ${ARGN})
    target_include_directories(elapse-${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(elapse-${name} PRIVATE elapse_compile_options)
    set_target_properties(elapse-${name} PROPERTIES
        C_VISIBILITY_PRESET hidden
        C_EXTENSIONS OFF
        POSITION_INDEPENDENT_CODE ON)
    set_property(GLOBAL APPEND PROPERTY elapse_rooms elapse-${name})
endfunction()
