# The manual pages: those written by hand, one for each command that leads to the page describing it, and
# those of section 3, which the build makes from the public headers with Python.

# elapse_command_pages(PAGE): `man elapse-COMMAND` leads to the page, for its commands in docs/man/commands.txt.
function(elapse_command_pages page)
    set(list ${PROJECT_SOURCE_DIR}/docs/man/commands.txt)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    string(REPLACE "." "[.]" pattern ${page})
    file(STRINGS ${list} commands REGEX "^${pattern} ")
    string(REPLACE " " ";" commands "${commands}")
    list(REMOVE_AT commands 0)
    foreach(command IN LISTS commands)
        set(file ${PROJECT_BINARY_DIR}/man/man1/elapse-${command}.1)
        file(CONFIGURE OUTPUT ${file} CONTENT ".so man1/${page}\n" @ONLY)
        install(FILES ${file} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    endforeach()
endfunction()

install(FILES ${PROJECT_SOURCE_DIR}/docs/man/elapse.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
if(TARGET elapse-tool)
    install(FILES ${PROJECT_SOURCE_DIR}/docs/man/elapse.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    elapse_command_pages(elapse.1)
    if(ELAPSE_CLIENT)
        install(FILES
            ${PROJECT_SOURCE_DIR}/docs/man/elapse-client.1
            ${PROJECT_SOURCE_DIR}/docs/man/elapse-work.1
            DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
        elapse_command_pages(elapse-client.1)
    endif()
    if(TARGET elapse-server)
        install(FILES ${PROJECT_SOURCE_DIR}/docs/man/elapse-resp.7
            DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
    endif()
endif()
if(TARGET elapse-server-loop)
    install(FILES ${PROJECT_SOURCE_DIR}/docs/man/elapse-cluster.8 ${PROJECT_SOURCE_DIR}/docs/man/elapse-serve.8
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
endif()

find_package(Python3 3.8 QUIET COMPONENTS Interpreter)
if(NOT Python3_FOUND)
    message(STATUS "elapse: no Python 3.8 found: the manual pages of section 3 are left out")
    return()
endif()

set(elapse_man_dir ${PROJECT_BINARY_DIR}/man)
set(elapse_man_stamp ${elapse_man_dir}/made)
set(elapse_man_script ${PROJECT_SOURCE_DIR}/scripts/manual/man_pages.py)
set(elapse_man_options)
if(NOT ELAPSE_QUEUE)
    set(elapse_man_options --without-queue)
endif()
file(GLOB elapse_man_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/include/elapse/*.h
    ${PROJECT_SOURCE_DIR}/scripts/manual/*.py)
add_custom_command(OUTPUT ${elapse_man_stamp}
    COMMAND ${Python3_EXECUTABLE} -B ${elapse_man_script} ${elapse_man_options} ${elapse_man_dir}
    COMMAND ${CMAKE_COMMAND} -E touch ${elapse_man_stamp}
    DEPENDS ${elapse_man_sources} ${PROJECT_SOURCE_DIR}/docs/man/elapse.7
    COMMENT "Making the manual pages of section 3"
    VERBATIM)
add_custom_target(elapse-manual ALL DEPENDS ${elapse_man_stamp})
install(DIRECTORY ${elapse_man_dir}/man3
    DESTINATION ${CMAKE_INSTALL_MANDIR}
    FILES_MATCHING PATTERN "*.3")
