/* C interface of furlong/blas.hh: the same functions with a return code instead of an exception.
 *
 * Every function returns 0 when it ran, -k when argument k is bad (numbered as in its declaration;
 * nothing was written), and FURLONG_FAILED for anything else (no memory, a bad pin, a bad table).
 * furlong_last_error() then tells why. Results per item are in `info`, as in furlong/blas.hh.
 */
#ifndef FURLONG_BLAS_H
#define FURLONG_BLAS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FURLONG_FAILED 1

/* How a call runs: its workspace and its threads. One per calling thread; not shared. */
typedef struct furlong_exec furlong_exec;

/* threads 0 = every core this process may run on; 1 = the calling thread alone. Null on failure. */
furlong_exec* furlong_exec_create(int threads);
/* Null is allowed. */
void furlong_exec_destroy(furlong_exec* exec);

/* Why the last call on this thread that returned no 0 (or null) failed; "" before any did. Valid
 * until the next failure on this thread. */
const char* furlong_last_error(void);

/* Cholesky factorisation; uplo is 'L' or 'U' (or lower case). Strided: item i at a + i * stride_a.
 */
int furlong_spotrf(char uplo, int64_t n, float* a, int64_t lda, int64_t stride_a, int64_t batch,
                   int* info, furlong_exec* exec);
int furlong_dpotrf(char uplo, int64_t n, double* a, int64_t lda, int64_t stride_a, int64_t batch,
                   int* info, furlong_exec* exec);

/* The same with item i at a[i]; items must not overlap. */
int furlong_spotrf_pointers(char uplo, int64_t n, float* const* a, int64_t lda, int64_t batch,
                            int* info, furlong_exec* exec);
int furlong_dpotrf_pointers(char uplo, int64_t n, double* const* a, int64_t lda, int64_t batch,
                            int* info, furlong_exec* exec);

#ifdef __cplusplus
}
#endif

#endif
