/*
 * Stands in for the rivals whose libraries are not installed.
 */
#include "../contender.h"

#ifndef BENCH_HAS_LIBEV
const struct contender contender_libev = {.name = "libev", .missing_package = "libev-dev"};
#endif
#ifndef BENCH_HAS_LIBEVENT
const struct contender contender_libevent = {.name = "libevent", .missing_package = "libevent-dev"};
const struct contender contender_libevent_common = {.name = "libevent-c",
                                                    .missing_package = "libevent-dev"};
#endif
#ifndef BENCH_HAS_LIBUV
const struct contender contender_libuv = {.name = "libuv", .missing_package = "libuv1-dev"};
#endif
#ifndef BENCH_HAS_GLIB
const struct contender contender_glib = {.name = "glib", .missing_package = "libglib2.0-dev"};
#endif
