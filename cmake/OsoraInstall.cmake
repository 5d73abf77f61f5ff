# `cmake --install`: programs and modules; they find LibTorch where the build found it.
include(GNUInstallDirs)
foreach(program osora osorad osora-worker osora-worker-mock osora-sim)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
# Beside bin, not in a library folder of the system's: run paths say $ORIGIN/../lib.
get_property(modules GLOBAL PROPERTY OSORA_MODULES)
if(modules)
  install(TARGETS ${modules} LIBRARY DESTINATION lib)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/osora/examples
        OPTIONAL FILES_MATCHING PATTERN *.toml)
