/*
 * What a client of HTTP reads: answers from replies of RESP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/server/http/translate.h"

/* Compares the answer to a reserve with a status and a code. */
static void check_error(const char *reply, int status, const char *code)
{
    struct elapse__json json = {.failed = false};
    char text[256] = "";

    assert_int_equal(
        elapse__http_answer(ELAPSE__HTTP_RESERVE, (const uint8_t *)reply, strlen(reply), &json),
        status);
    assert_in_range(elapse__buffer_size(&json.text), 1, sizeof text - 1);
    memcpy(text, elapse__buffer_first(&json.text), elapse__buffer_size(&json.text));
    assert_non_null(strstr(text, code));
    elapse__json_free(&json);
}

static void a_fault_of_the_disk_is_no_fault_of_the_caller(void **state)
{
    (void)state;
    check_error("-DAMAGED the disk could not be read\r\n", 500, "\"code\":\"DAMAGED\"");
    check_error("-ERR no such thing\r\n", 400, "\"code\":\"BAD_ARGUMENT\"");
    check_error("-STRANGE thing\r\n", 500, "\"code\":\"FAILED\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_of_the_disk_is_no_fault_of_the_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
