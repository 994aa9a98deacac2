# find_package(cmocka) finds this where cmocka_DIR says so: the stand-in for machines
# that have no cmocka.
if(NOT TARGET cmocka-stand-in)
    add_library(cmocka-stand-in STATIC ${CMAKE_CURRENT_LIST_DIR}/stand_in.c)
    target_link_libraries(cmocka-stand-in PRIVATE elapse_compile_options)
endif()
set(CMOCKA_INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR})
set(CMOCKA_LIBRARIES cmocka-stand-in)
