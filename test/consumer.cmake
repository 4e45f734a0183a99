cmake_minimum_required(VERSION 3.25)
# Installs the build into an empty prefix and builds examples/c against it as a user would: by find_package, and one
# program by pkg-config where there is one. Then runs them.
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
set(prefix ${work}/prefix)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${work}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix}
                        -DCMAKE_C_COMPILER=${C_COMPILER} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${work}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${work}/build --output-on-failure COMMAND_ERROR_IS_FATAL ANY)

find_program(pkg_config NAMES pkg-config pkgconf)
if(pkg_config)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${pkg_config} --cflags --libs tcuops OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(COMMAND ${C_COMPILER} -std=c99 ${SOURCE}/reduce.c -o ${work}/reduce ${flags} -lm
                          -Wl,-rpath,${prefix}/${LIBDIR} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${work}/reduce COMMAND_ERROR_IS_FATAL ANY)
endif()
