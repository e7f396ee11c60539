/* What dlx's headers take from <stdint.h>, for the parser that the generator uses. Only the names
 * go into the bindings, never the widths that are written here. */
#ifndef DLX_GEN_STDINT_H_
#define DLX_GEN_STDINT_H_
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT64_MIN (-9223372036854775807LL - 1)
#endif
