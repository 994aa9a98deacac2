/*
 * Messages about parts that this program was built without. They say how to get the part.
 */
#ifndef ELAPSE_CLI_COMMON_LACKS_H
#define ELAPSE_CLI_COMMON_LACKS_H

#define LACKS_SERVER                                                            \
    "this program was built without the server (ELAPSE_SERVER). To have it, "   \
    "build with -DELAPSE_SERVER=ON, which needs libevent and OpenSSL (Debian: " \
    "libevent-dev libssl-dev)"

#define LACKS_CLIENT                                                                        \
    "this program was built without the client (ELAPSE_CLIENT). To have it, build with "    \
    "-DELAPSE_CLIENT=ON, which needs hiredis, libcurl and OpenSSL (Debian: libhiredis-dev " \
    "libcurl4-openssl-dev libssl-dev)"

#define LACKS_CLUSTERS                                                                        \
    "this program was built without clusters (ELAPSE_CLUSTER). To have them, build with the " \
    "server where libpq is installed (Debian: libpq-dev)"

#endif
