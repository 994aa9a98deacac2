/*
 * The table of ids alone: against a plain array, at the edges of its spans, and what it takes.
 */
#include <stdlib.h>

#include "fixture.h"

#include "ids.h"

enum { IDS = 5000, PLACES = ELAPSE__QUEUE_SPAN_IDS };

/* A table, and what it must hold: the entry of id i * step + first is entries[i]; 0: none. */
struct table {
    struct elapse__queue_ids ids;
    struct elapse_allocator memory;
    uint32_t step, first;
    uint32_t entries[IDS];
};

static struct table table;

static void open_table(uint32_t step, uint32_t first)
{
    table = (struct table){.memory = elapse__default_allocator(), .step = step, .first = first};
    elapse__queue_ids_init(&table.ids, 12345, step);
}

static void close_table(void)
{
    elapse__queue_ids_free(&table.ids, &table.memory);
}

static uint64_t id_of(uint32_t i)
{
    return (uint64_t)i * table.step + table.first;
}

static void insert(uint32_t i)
{
    static uint32_t entry;
    table.entries[i] = ++entry;
    assert_true(elapse__queue_ids_reserve(&table.ids, id_of(i), &table.memory));
    elapse__queue_ids_insert(&table.ids, id_of(i), entry, &table.memory);
}

static void take_out(uint32_t i)
{
    table.entries[i] = 0;
    elapse__queue_ids_remove(&table.ids, id_of(i), &table.memory);
}

/* The table holds what the array does from `begin` to `end`, and returns how many ids that are. */
static uint32_t compare_part(uint32_t begin, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t i = begin; i < end; i++) {
        count += table.entries[i] != 0;
        assert_int_equal(elapse__queue_ids_find(&table.ids, id_of(i)), table.entries[i]);
    }
    assert_true(elapse__queue_ids_check(&table.ids));
    return count;
}

static void compare(void)
{
    assert_int_equal(table.ids.count, compare_part(0, IDS));
}

QUEUE_TEST(ids_come_and_go_in_any_order)
{
    static const uint32_t steps[][2] = {{1, 0}, {1, 1}, {8, 3}, {1000, 999}};
    uint64_t random = 1;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        open_table(steps[k][0], steps[k][1]);
        for (uint32_t round = 0; round < 60000; round++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            /* Few ids, then many, then few again. */
            uint32_t wanted = round < 20000 ? 16 : round < 40000 ? 15 * 16 : 4;
            uint32_t i = (uint32_t)(random >> 32) % IDS;
            bool add = (random >> 20) % 256 < wanted;
            if (add && table.entries[i] == 0)
                insert(i);
            else if (!add && table.entries[i] != 0)
                take_out(i);
            if (round % 4000 == 0)
                compare();
        }
        compare();
        for (uint32_t i = 0; i < IDS; i++)
            if (table.entries[i] != 0)
                take_out(i);
        assert_int_equal(elapse__queue_ids_bytes(&table.ids), 0);
        assert_true(elapse__queue_ids_check(&table.ids));
        close_table();
    }
}

/* Each span in turn is filled up to so many ids, and emptied, from its beginning and from its end.
 */
QUEUE_TEST(a_span_holds_each_number_of_ids)
{
    open_table(3, 2);
    for (uint32_t count = 1; count <= PLACES; count++) {
        uint32_t begin = count * PLACES % (IDS - 2 * PLACES);
        for (uint32_t i = 0; i < count; i++) {
            insert(begin + (count % 2 == 0 ? i : PLACES - 1 - i));
            assert_int_equal(table.ids.count, compare_part(begin, begin + 2 * PLACES));
        }
        for (uint32_t i = 0; i < count; i++) {
            take_out(begin + (count % 4 < 2 ? i : count - 1 - i) +
                     (count % 2 == 0 ? 0 : PLACES - count));
            assert_int_equal(table.ids.count, compare_part(begin, begin + 2 * PLACES));
        }
    }
    assert_int_equal(elapse__queue_ids_bytes(&table.ids), 0);
    close_table();
}

QUEUE_TEST(ids_at_the_edges_of_spans_are_apart)
{
    static const uint32_t edges[] = {0, 1, 63, 64, 65, 127, 128, 4095, 4096, 4999};
    enum { EDGES = sizeof edges / sizeof *edges };
    open_table(1, 0);
    for (size_t i = 0; i < EDGES; i++) {
        assert_int_equal(elapse__queue_ids_find(&table.ids, edges[i]), 0);
        insert(edges[i]);
        compare();
    }
    /* Ids far above all others, and the same place in another span. */
    assert_int_equal(elapse__queue_ids_find(&table.ids, 5000), 0);
    assert_int_equal(elapse__queue_ids_find(&table.ids, ELAPSE__QUEUE_ID_MAX), 0);
    for (size_t i = 0; i < EDGES; i++) {
        take_out(edges[i]);
        compare();
    }
    close_table();
}

/* Whichever ids are left, and however they came: 24 bytes an id at most, and 4.4 if all are. */
QUEUE_TEST(an_id_takes_no_more_memory_than_promised)
{
    uint64_t most = 0;
    for (uint32_t distance = 1; distance <= 2 * PLACES; distance++) {
        open_table(1 + distance % 9, distance % 9);
        for (uint32_t i = 0; i < IDS; i++)
            insert(i);
        assert_in_range(elapse__queue_ids_bytes(&table.ids), 4 * IDS,
                        4 * IDS + 28 * (IDS / 64 + 1));
        for (uint32_t i = 0; i < IDS; i++) {
            if (i % distance != 0)
                take_out(i);
            uint64_t bytes = elapse__queue_ids_bytes(&table.ids);
            if (bytes > most * table.ids.count)
                most = (bytes + table.ids.count - 1) / table.ids.count;
        }
        compare();
        close_table();
    }
    assert_in_range(most, 12, 24);
}

/* Only the number of a span is hashed, and that is secret, so it hardly matters which ids live. */
QUEUE_TEST(ids_that_a_client_chooses_make_no_long_chains)
{
    for (uint32_t distance = 1; distance <= 1 << 12; distance *= 2) {
        uint32_t most = 0;
        open_table(1, 0);
        for (uint64_t i = 1; i < 20000; i++) {
            assert_true(elapse__queue_ids_reserve(&table.ids, i * distance, &table.memory));
            elapse__queue_ids_insert(&table.ids, i * distance, (uint32_t)i, &table.memory);
            most = table.ids.index.moved > most ? table.ids.index.moved : most;
        }
        assert_in_range(most, 1, 24);
        assert_true(elapse__queue_ids_check(&table.ids));
        close_table();
    }
}

/* An allocator that has memory for so many calls. */
static void *allocate_some(size_t alignment, size_t bytes, void *context)
{
    uint32_t *left = context;
    if (*left == 0)
        return NULL;
    --*left;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release_any(void *memory, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    free(memory);
}

/* A put that replaces a job reserves its id, and ends that job before it inserts. */
QUEUE_TEST(a_reserved_id_is_inserted_without_memory_whatever_was_removed)
{
    for (uint32_t calls = 0; calls < 12; calls++) {
        for (uint32_t before = 0; before < PLACES; before++) {
            uint32_t left = UINT32_MAX;
            open_table(1, 0);
            table.memory = (struct elapse_allocator){allocate_some, release_any, &left};
            for (uint32_t i = 0; i < before; i++)
                insert(i);
            left = calls;
            if (elapse__queue_ids_reserve(&table.ids, before, &table.memory)) {
                if (before > 0 && calls % 2 == 0)
                    take_out(before / 2);
                left = 0;
                elapse__queue_ids_insert(&table.ids, before, 77, &table.memory);
                table.entries[before] = 77;
            }
            compare();
            close_table();
        }
    }
}

TEST_MAIN("ids")
