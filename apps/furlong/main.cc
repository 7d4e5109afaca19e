// The tuner of the built-in ops.
#include "blas/specs.hh"
#include "furlong/cli.hh"

int main(int argc, char** argv) {
  return furlong::cli::run(argc, argv, {&furlong::blas::potrf_spec()});
}
