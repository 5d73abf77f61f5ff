# `cmake --install`: programs and modules; they find LibTorch where the build found it.
include(GNUInstallDirs)
foreach(program osora osorad osora-clips osora-worker osora-worker-mock osora-sim)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
get_property(modules GLOBAL PROPERTY OSORA_MODULES)
# Beside bin, not in a library folder of the system's: run paths say $ORIGIN/../lib.
if(modules)
  install(TARGETS ${modules} LIBRARY DESTINATION lib)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/osora/examples
        OPTIONAL FILES_MATCHING PATTERN *.toml)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/etc/slurm ${CMAKE_SOURCE_DIR}/etc/grafana DESTINATION ${CMAKE_INSTALL_DATADIR}/osora)
install(FILES ${CMAKE_SOURCE_DIR}/etc/systemd/osorad.service DESTINATION lib/systemd/user)
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/osora.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_SOURCE_DIR}/etc/completion/osora.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME osora)
install(FILES ${CMAKE_SOURCE_DIR}/etc/completion/osora.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${CMAKE_SOURCE_DIR}/etc/completion/_osora
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
# Whoever owns the folder of LibTorch decides what every user's worker does: say whose it is.
if(TARGET osora-worker)
  install(CODE "execute_process(COMMAND \"${CMAKE_SOURCE_DIR}/scripts/trusted_folder\"
                \"osora-worker loads LibTorch from\" \"${OSORA_TORCH_ROOT}/lib\")")
endif()
