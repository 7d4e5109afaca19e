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
