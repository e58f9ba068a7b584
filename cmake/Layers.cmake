# cordon_layer(NAME SOURCES...): the library of one folder of src/. Its
# dependencies are the line of /LAYERS, so that the link graph says the same as
# the include check (tests/layers.py).
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/LAYERS CORDON_LAYER_LINES REGEX "^[a-z]+:")

function(cordon_layer name)
  add_library(cordon_${name} STATIC ${ARGN})
  target_include_directories(cordon_${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(cordon_${name} PUBLIC cordon_flags)
  foreach(line IN LISTS CORDON_LAYER_LINES)
    if(line MATCHES "^${name}: *(.*)$")
      separate_arguments(deps UNIX_COMMAND "${CMAKE_MATCH_1}")
      foreach(dep IN LISTS deps)
        if(TARGET cordon_${dep})
          target_link_libraries(cordon_${name} PUBLIC cordon_${dep})
        endif()
      endforeach()
    endif()
  endforeach()
endfunction()
