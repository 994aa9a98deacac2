/*
 * The page is one file of HTML, src/server/page/page.html, which the build puts into the program.
 * The page asks only its own server for data, and its policy allows nothing else.
 */
#ifndef ELAPSE__PAGE_H
#define ELAPSE__PAGE_H

#include <stdbool.h>
#include <stddef.h>

enum { ELAPSE__PAGE_POLICY_BYTES = 512 };

/* The file, with a zero after it. */
extern const unsigned char elapse__page[];
extern const size_t elapse__page_bytes;

/* docs/openapi.json, with a zero after it. */
extern const unsigned char elapse__openapi[];
extern const size_t elapse__openapi_bytes;

/* Writes the Content-Security-Policy of a page. It has the hashes of the first element <script> and
 * the first element <style>, so that only these two are used. Returns false if the page lacks one
 * of the two elements, or if OpenSSL refuses. */
bool elapse__page_policy(const char *page, char policy[ELAPSE__PAGE_POLICY_BYTES]);

#endif
