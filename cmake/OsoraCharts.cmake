# The charts of HTML reports: npm packages that scripts/bootstrap puts into .deps/web, pinned with
# their hashes in web/report/package-lock.json, made into one script by esbuild.
set(OSORA_WEB_MODULES ${CMAKE_SOURCE_DIR}/.deps/web/node_modules
    CACHE PATH "node_modules with the packages of web/report/package-lock.json")
file(GLOB OSORA_ESBUILD ${OSORA_WEB_MODULES}/@esbuild/*/bin/esbuild)

# The version of an npm package out of its package.json, "" when it is not there.
function(osora_npm_version package out)
  set(${out} "" PARENT_SCOPE)
  if(EXISTS ${OSORA_WEB_MODULES}/${package}/package.json)
    file(READ ${OSORA_WEB_MODULES}/${package}/package.json text)
    string(JSON version ERROR_VARIABLE failed GET "${text}" version)
    if(NOT failed)
      set(${out} ${version} PARENT_SCOPE)
    endif()
  endif()
endfunction()

file(READ ${CMAKE_SOURCE_DIR}/web/report/package.json text)
string(JSON wanted GET "${text}" dependencies echarts)
osora_npm_version(echarts have)
set(esbuild_failed 1)
if(OSORA_ESBUILD)
  execute_process(COMMAND ${OSORA_ESBUILD} --version RESULT_VARIABLE esbuild_failed
                  OUTPUT_QUIET ERROR_QUIET)
endif()
if(NOT have OR NOT OSORA_ESBUILD)
  osora_feature(CHARTS MISSING
    "the packages of web/report are not there (scripts/bootstrap): HTML reports have tables only")
elseif(NOT have STREQUAL wanted)
  osora_feature(CHARTS MISSING
    "${OSORA_WEB_MODULES} has echarts ${have}, not ${wanted} (scripts/bootstrap)")
elseif(esbuild_failed)
  osora_feature(CHARTS MISSING "${OSORA_ESBUILD} does not run here")
else()
  osora_feature(CHARTS FOUND "Apache ECharts ${have} in HTML reports")
endif()

# Writes the texts that the licences of the bundled packages want to go with them.
function(osora_chart_licences file)
  set(all "")
  foreach(package echarts zrender tslib)
    osora_npm_version(${package} version)
    foreach(name NOTICE LICENSE LICENSE.txt licenses/LICENSE-d3)
      if(EXISTS ${OSORA_WEB_MODULES}/${package}/${name})
        file(READ ${OSORA_WEB_MODULES}/${package}/${name} text)
        string(APPEND all "==== ${package} ${version}: ${name} ====\n${text}\n\n")
      endif()
    endforeach()
  endforeach()
  set(old "")
  if(EXISTS ${file})
    file(READ ${file} old)
  endif()
  if(NOT old STREQUAL all)
    file(WRITE ${file} "${all}")
  endif()
endfunction()
