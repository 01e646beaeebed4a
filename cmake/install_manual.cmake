# Writes share/man/man1/*.1 and share/bash-completion/completions/* of the installed tree. Variables: programs, commands (of `assay`).
set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
set(man "${prefix}/share/man/man1")
set(completions "${prefix}/share/bash-completion/completions")
file(MAKE_DIRECTORY "${man}" "${completions}")

function(write_manual file program)  # further arguments: what it is asked
  execute_process(COMMAND "${prefix}/bin/${program}" ${ARGN} OUTPUT_FILE "${file}" ERROR_VARIABLE why RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    file(REMOVE "${file}")
    message(WARNING "${file} is not installed (${program} ${ARGN}: ${code} ${why}). Run it by hand.")
  endif()
endfunction()

list(FILTER programs EXCLUDE REGEX "^assay_backend_")  # plugins have no command line
foreach(program IN LISTS programs)
  write_manual("${man}/${program}.1" ${program} --help-as man)
  write_manual("${completions}/${program}" ${program} --help-as bash)
endforeach()
foreach(command IN LISTS commands)
  write_manual("${man}/assay-${command}.1" assay ${command} --help-as man)
endforeach()
