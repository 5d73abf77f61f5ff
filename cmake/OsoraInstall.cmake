# `cmake --install`: programs find LibTorch where the build found it.
include(GNUInstallDirs)
set(installed osora osorad osora-worker-mock)
if(OSORA_WITH_WORKER)
  list(APPEND installed osora-worker)
  set_target_properties(osora-worker PROPERTIES INSTALL_RPATH "${OSORA_TORCH_RUNPATH}")
endif()
install(TARGETS ${installed} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
