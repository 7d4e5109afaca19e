// Calls a tuned op through the installed package.
#include <cmath>
#include <vector>

#include "furlong/blas.hh"

int main() {
  // Two copies of [[4, 2], [2, 5]], whose lower factor is [[2, 0], [1, 2]].
  std::vector<double> a{4, 2, 2, 5, 4, 2, 2, 5};
  std::vector<int> info(2, -1);
  furlong::Exec exec(1);
  furlong::potrf(furlong::Uplo::kLower, 2, a.data(), 2, 4, 2, info.data(), exec);
  for (std::size_t item = 0; item < 2; ++item) {
    const double* l = a.data() + 4 * item;
    if (info[item] != 0 || std::abs(l[0] - 2) > 1e-14 || std::abs(l[1] - 1) > 1e-14 ||
        std::abs(l[3] - 2) > 1e-14) {
      return 1;
    }
  }
  return 0;
}
