/*
 * Writes a node of a cluster as JSON.
 */
#include "node_json.h"

void elapse__node_json_write(struct elapse__json *json, const struct elapse__node_json *node)
{
    elapse__json_open(json, '{');
    elapse__json_any_text_member(json, "name", node->name);
    elapse__json_any_text_member(json, "address", node->address);
    elapse__json_any_text_member(json, "version", node->version);
    elapse__json_any_text_member(json, "zone", node->zone);
    elapse__json_boolean_member(json, "alive", node->lives);
    elapse__json_boolean_member(json, "draining", node->drains);
    elapse__json_unsigned_member(json, "age_ms", node->age_ms);
    elapse__json_name(json, "ahead_ms");
    elapse__json_signed(json, node->ahead_ms);
    elapse__json_unsigned_member(json, "owns", node->owns);
    elapse__json_name(json, "ready");
    elapse__json_open(json, '[');
    for (uint32_t i = 0; i < node->partitions; i++)
        if (node->ready[i])
            elapse__json_unsigned(json, i);
    elapse__json_close(json, ']');
    elapse__json_close(json, '}');
}
