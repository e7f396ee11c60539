/* Functions that do nothing: what is left is the price of the call. */
#include <dlx/call.h>

int32_t f0(void) { return 0; }
int32_t f1(DLTensor *a) { return a->ndim != 1; }
int32_t f3(DLTensor *a, DLTensor *b, DLTensor *c) { return (a->ndim | b->ndim | c->ndim) != 1; }
int32_t f8(DLTensor *a, DLTensor *b, DLTensor *c, DLTensor *d, DLTensor *e, DLTensor *f,
           DLTensor *g, DLTensor *h) {
  return (a->ndim | b->ndim | c->ndim | d->ndim | e->ndim | f->ndim | g->ndim | h->ndim) != 1;
}
/* By the address of the data, for ctypes. */
void p1(float *a) { (void)a; }
void p3(float *a, float *b, float *c) { (void)a, (void)b, (void)c; }
void p8(float *a, float *b, float *c, float *d, float *e, float *f, float *g, float *h) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
}
