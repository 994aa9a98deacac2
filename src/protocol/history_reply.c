#include "history_reply.h"

#include "../base/assert.h"
#include "reply_fields.h"

static const struct field {
    const char *name;
    size_t offset; /* the place of the field in a point; the field is a number of 64 bits */
} fields[] = {
#define FIELD(field, name, kind) {name, offsetof(struct elapse__history_point, field)},
    ELAPSE__HISTORY_FIELDS(FIELD)
#undef FIELD
};

enum { FIELDS = sizeof fields / sizeof *fields };

const unsigned elapse__history_fields = FIELDS;

size_t elapse__history_field_bytes(unsigned count)
{
    enum { NAME_BYTES = 32 };
    return ((size_t)count + 2) * ELAPSE__WIRE_RESP_FRAME_MAX + NAME_BYTES;
}

void elapse__history_write_head(struct elapse__wire_resp_writer *writer)
{
    elapse__wire_resp_write_map(writer, FIELDS);
}

void elapse__history_write_field(struct elapse__wire_resp_writer *writer,
                                 const struct elapse__history *history, unsigned count,
                                 unsigned field)
{
    ELAPSE__ASSERT_THAT(field, <, (unsigned)FIELDS);
    elapse__wire_resp_write_text(writer, fields[field].name);
    elapse__wire_resp_write_array(writer, count);
    for (unsigned i = 0; i < count; i++) {
        const char *point = (const char *)elapse__history_at(history, count, i);
        uint64_t value = *(const uint64_t *)(const void *)(point + fields[field].offset);
        if (value == ELAPSE__HISTORY_UNKNOWN)
            elapse__wire_resp_write_null(writer);
        else
            elapse__wire_resp_write_integer(writer, (int64_t)value);
    }
}
