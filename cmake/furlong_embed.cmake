# furlong_embed_hashes(<target> SPEC <file> ROOT <dir> FUNCTION <namespace::name>)
#   Compiles into <target> the kernel hashes of an op's sources as they are at build time.
function(furlong_embed_hashes target)
  cmake_parse_arguments(ARG "" "SPEC;ROOT;FUNCTION" "" ${ARGN})
  string(MAKE_C_IDENTIFIER "${ARG_FUNCTION}" name)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND furlong_embed_hashes ${ARG_ROOT} ${ARG_SPEC} ${ARG_FUNCTION} ${output} ${output}.d
    DEPENDS furlong_embed_hashes ${ARG_SPEC}
    DEPFILE ${output}.d
    COMMENT "Hashing the kernel sources of ${ARG_SPEC}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

# furlong_embed_tables(<target> DIR <dir> FUNCTION <namespace::name> [DTYPES dtype...])
#   Compiles into <target> every file of a tables folder. A file that is not <op>.<device>.txt, or
#   that does not parse, fails the build. DTYPES default to the four usual ones.
function(furlong_embed_tables target)
  cmake_parse_arguments(ARG "" "DIR;FUNCTION" "DTYPES" ${ARGN})
  if(NOT ARG_DTYPES)
    set(ARG_DTYPES float double cfloat cdouble)
  endif()
  list(JOIN ARG_DTYPES "," dtypes)
  file(GLOB files CONFIGURE_DEPENDS ${ARG_DIR}/*)
  string(MAKE_C_IDENTIFIER "${ARG_FUNCTION}" name)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  # The list of files is a dependency too: a removed file must rebuild the output.
  file(CONFIGURE OUTPUT ${output}.list CONTENT "${files}\n" @ONLY)
  add_custom_command(
    OUTPUT ${output}
    COMMAND furlong_embed_tables ${ARG_FUNCTION} ${output} ${dtypes} ${files}
    DEPENDS furlong_embed_tables ${files} ${output}.list
    COMMENT "Embedding the tables of ${ARG_DIR}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
