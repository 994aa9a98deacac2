# What `cmake --install` puts where: libraries, headers, what CMake and pkg-config read, the
# program, the licence; manual.cmake has the manual pages. All of it finds its parts from where it lies, so the
# whole may be moved.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(elapse_headers_left_out)
if(NOT ELAPSE_QUEUE)
    set(elapse_headers_left_out PATTERN "queue.h" EXCLUDE PATTERN "job.h" EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/elapse
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" ${elapse_headers_left_out})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Each library has an export of its own: a system may leave some of them out.
set(elapse_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/elapse)
foreach(kind IN ITEMS static shared queue-static queue-shared)
    if(TARGET elapse-${kind})
        install(TARGETS elapse-${kind} EXPORT elapse-${kind}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
        install(EXPORT elapse-${kind}
            FILE elapse-${kind}.cmake
            NAMESPACE elapse::
            DESTINATION ${elapse_package_dir})
    endif()
endforeach()

# The static libraries as they are installed: their private names are local, so that only public names
# can clash with a program's. Those of the build hide nothing, because the program and the tests use
# more. elapse_hide(OBJECT ROOM...): one object of these rooms.
function(elapse_hide object)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
    separate_arguments(flags NATIVE_COMMAND "${CMAKE_C_FLAGS}")
    if(CMAKE_C_COMPILER_TARGET) # clang for another machine
        list(APPEND flags --target=${CMAKE_C_COMPILER_TARGET})
    endif()
    add_custom_command(OUTPUT ${object}
        COMMAND ${CMAKE_C_COMPILER} ${flags} -r -nostdlib -o ${object} ${objects}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${object}
        DEPENDS ${objects}
        COMMENT "Hiding private names: ${object}"
        COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

# elapse_install_hidden(LIBRARY OBJECT...): the library out of these objects, in place of the one above.
function(elapse_install_hidden library)
    get_target_property(name elapse-${library} OUTPUT_NAME)
    set(archive ${PROJECT_BINARY_DIR}/hidden/lib${name}.a)
    add_custom_command(OUTPUT ${archive}
        COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
        COMMAND ${CMAKE_AR} rcs ${archive} ${ARGN}
        DEPENDS ${ARGN}
        VERBATIM)
    add_custom_target(elapse-${library}-hidden ALL DEPENDS ${archive})
    # The objects are there when the library above is: Makefiles do not know how each is made.
    add_dependencies(elapse-${library}-hidden elapse-${library})
    # The one above is about as old, so install would take the two for the same.
    set(directory "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}")
    if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
        set(directory "${CMAKE_INSTALL_LIBDIR}")
    endif()
    install(CODE "file(REMOVE \"\$ENV{DESTDIR}${directory}/lib${name}.a\")")
    install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# Each object has a copy of the private rooms that it needs. The structures are one of their own, so
# that a program that uses the wheel alone gets no scheduler.
set(elapse_hidden ${PROJECT_BINARY_DIR}/hidden)
file(MAKE_DIRECTORY ${elapse_hidden})
if(CMAKE_OBJCOPY AND TARGET elapse-static)
    elapse_hide(${elapse_hidden}/structures.o elapse-base elapse-structures)
    elapse_hide(${elapse_hidden}/scheduler.o elapse-base elapse-os elapse-cron elapse-scheduler)
    elapse_install_hidden(static ${elapse_hidden}/structures.o ${elapse_hidden}/scheduler.o)
endif()
if(CMAKE_OBJCOPY AND TARGET elapse-queue-static)
    elapse_hide(${elapse_hidden}/queue.o ${elapse_rooms_of_queue} elapse-base elapse-os)
    elapse_install_hidden(queue-static ${elapse_hidden}/queue.o)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/elapseConfigVersion.cmake
    COMPATIBILITY ${elapse_compatibility})
install(
    FILES ${PROJECT_SOURCE_DIR}/cmake/elapseConfig.cmake ${PROJECT_BINARY_DIR}/elapseConfigVersion.cmake
    DESTINATION ${elapse_package_dir})

if(ELAPSE_QUEUE)
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindxxHash.cmake DESTINATION ${elapse_package_dir})
endif()

# A file of pkg-config says where it lies, and from there it is so far to the prefix.
set(elapse_pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH elapse_pc_to_prefix ${elapse_pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" elapse_pc_to_prefix "${elapse_pc_to_prefix}")
cmake_path(APPEND elapse_pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND elapse_pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
if(ELAPSE_WHEEL_SMALL)
    set(elapse_pc_definitions " -DELAPSE_WHEEL_SMALL")
endif()
set(elapse_pc_files elapse.pc)
if(ELAPSE_QUEUE)
    list(APPEND elapse_pc_files elapse-queue.pc)
endif()
foreach(file IN LISTS elapse_pc_files)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${file}.in ${PROJECT_BINARY_DIR}/${file} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The inbox of clusters is a script for the database, which is run from where it lies.
if(TARGET elapse-cluster-postgres)
    install(FILES ${PROJECT_SOURCE_DIR}/sql/inbox.sql DESTINATION ${CMAKE_INSTALL_DATADIR}/elapse)
endif()

if(TARGET elapse-tool)
    install(TARGETS elapse-tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    if(elapse_kind STREQUAL shared AND NOT CMAKE_INSTALL_RPATH)
        file(RELATIVE_PATH elapse_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
        set_target_properties(elapse-tool PROPERTIES INSTALL_RPATH "\$ORIGIN/${elapse_bin_to_lib}")
    endif()
endif()
