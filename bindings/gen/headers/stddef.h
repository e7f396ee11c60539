/* What dlx's headers take from <stddef.h>, for the parser that the generator uses. */
#ifndef DLX_GEN_STDDEF_H_
#define DLX_GEN_STDDEF_H_
typedef unsigned long size_t;
#define NULL ((void *)0)
#endif
