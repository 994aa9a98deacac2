# The rooms of the libraries: each folder of src/ is an object library, and these together are the
# library elapse, or the library elapse-queue. tests/project/lint/rooms.txt tells which room may use
# which.

# elapse_add_room_objects(NAME SOURCE...): the object library elapse-NAME.
function(elapse_add_room_objects name)
    add_library(elapse-${name} OBJECT ${ARGN})
    target_include_directories(elapse-${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(elapse-${name} PRIVATE elapse_compile_options)
    if(ELAPSE_WHEEL_SMALL)
        target_compile_definitions(elapse-${name} PRIVATE ELAPSE_WHEEL_SMALL)
    endif()
    set_target_properties(elapse-${name} PROPERTIES
        C_VISIBILITY_PRESET hidden
        C_EXTENSIONS OFF
        POSITION_INDEPENDENT_CODE ON)
endfunction()

# elapse_add_room(NAME SOURCE...): a room of the library elapse.
function(elapse_add_room name)
    elapse_add_room_objects(${name} ${ARGN})
    set_property(GLOBAL APPEND PROPERTY elapse_rooms elapse-${name})
endfunction()

# elapse_add_queue_room(NAME SOURCE...): a room of the library elapse-queue.
function(elapse_add_queue_room name)
    elapse_add_room_objects(${name} ${ARGN})
    set_property(GLOBAL APPEND PROPERTY elapse_queue_rooms elapse-${name})
endfunction()
