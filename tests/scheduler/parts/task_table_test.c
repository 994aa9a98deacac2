/*
 * Tests the table of tasks: the indices and generations that handles rely on, growing, giving
 * blocks back, and the end of the generations, for which the tests set a generation.
 */
#include "part.h"

#include "task_table.h"

enum { BLOCKS = 40, TASKS = BLOCKS * ELAPSE__BLOCK_TASKS };

struct fixture {
    struct elapse__task_table table;
    struct counting_memory counting;
    struct elapse_allocator memory;
};

static void begin(struct fixture *fixture)
{
    fixture->memory = counting_allocator(&fixture->counting);
    elapse__task_table_init(&fixture->table);
}

static void end(struct fixture *fixture)
{
    elapse__task_table_free(&fixture->table, &fixture->memory);
    assert_int_equal(fixture->counting.blocks, 0);
    assert_int_equal(fixture->counting.bytes, 0);
}

static void grow(struct fixture *fixture)
{
    uint32_t capacity = elapse__task_table_capacity_needed(&fixture->table);
    struct elapse__task_room room;

    assert_int_not_equal(capacity, UINT32_MAX);
    assert_true(elapse__task_room_make(&room, capacity, &fixture->memory));
    elapse__task_table_grow(&fixture->table, &room);
    assert_null(room.tasks);
    elapse__task_room_release(&room, &fixture->memory);
}

/* Takes a task as a shard does: overwrites all of the FREE task's `when`. */
static struct elapse__task *take(struct fixture *fixture)
{
    if (!elapse__task_table_has_room(&fixture->table))
        grow(fixture);
    struct elapse__task *task = elapse__task_table_take(&fixture->table);
    assert_int_equal(task->state, ELAPSE__TASK_FREE);
    memset(&task->when, 0xa5, sizeof task->when);
    task->state = ELAPSE__TASK_PENDING;
    return task;
}

static void give(struct fixture *fixture, struct elapse__task *task)
{
    elapse__task_revoke(task);
    elapse__task_table_give(&fixture->table, task);
}

static bool shrink(struct fixture *fixture, uint32_t number)
{
    struct elapse__task *tasks = elapse__task_table_shrink(&fixture->table, number);

    elapse__release(&fixture->memory, tasks, ELAPSE__BLOCK_BYTES);
    return tasks != NULL;
}

static struct elapse__task *find(struct fixture *fixture, uint32_t index, uint32_t generation)
{
    return elapse__task_table_find(&fixture->table, index, generation);
}

/* Gives a task in use the last generation but one, as if its index had been used very often. When
 * the task is given back, its index has no generation left. */
static void age(struct elapse__task *task)
{
    task->generation = UINT32_MAX - 1;
}

/* ---- room ---- */

TEST(a_new_table_has_nothing)
{
    struct fixture fixture;

    begin(&fixture);
    assert_false(elapse__task_table_has_room(&fixture.table));
    assert_null(elapse__task_table_at(&fixture.table, 0));
    assert_null(elapse__task_table_at(&fixture.table, UINT32_MAX));
    assert_null(find(&fixture, 0, 0));
    assert_null(elapse__task_table_shrink(&fixture.table, 0));
    assert_null(elapse__task_table_shrink(&fixture.table, UINT32_MAX));
    assert_true(elapse__task_table_capacity_needed(&fixture.table) > 0);
    end(&fixture);
}

TEST(each_task_has_an_index_of_its_own)
{
    static struct elapse__task *taken[TASKS];
    struct fixture fixture;

    begin(&fixture);
    memset(taken, 0, sizeof taken);
    for (unsigned i = 0; i < TASKS; i++) {
        struct elapse__task *task = take(&fixture);

        assert_in_range(task->index, 0, TASKS - 1);
        assert_null(taken[task->index]);
        taken[task->index] = task;
        assert_int_not_equal(task->generation, 0);
    }
    /* If a task has the size of a cache line, it lies in one cache line. */
    const size_t line_bytes =
        sizeof(struct elapse__task) == ELAPSE__LINE_BYTES ? ELAPSE__LINE_BYTES : 1;
    /* Tasks that were taken do not move when a larger array of records takes the place of the old
     * one. */
    for (uint32_t index = 0; index < TASKS; index++) {
        assert_ptr_equal(elapse__task_table_at(&fixture.table, index), taken[index]);
        assert_ptr_equal(find(&fixture, index, taken[index]->generation), taken[index]);
        assert_int_equal((uintptr_t)taken[index] % line_bytes, 0);
    }
    assert_null(elapse__task_table_at(&fixture.table, TASKS));
    assert_false(elapse__task_table_has_room(&fixture.table));
    end(&fixture);
}

TEST(room_is_made_whole_or_not_at_all)
{
    struct fixture fixture;
    struct elapse__task_room room;

    begin(&fixture);
    for (size_t allowed = 0; allowed < 2; allowed++) {
        fixture.counting.until_refused = allowed;
        assert_false(elapse__task_room_make(&room, 16, &fixture.memory));
        assert_int_equal(fixture.counting.blocks, 0);
    }
    end(&fixture);
}

/* Two threads have seen that the table is full. Each brings the memory that it made. */
TEST(of_two_rooms_made_at_once_nothing_is_lost)
{
    struct fixture fixture;
    struct elapse__task_room one;
    struct elapse__task_room other;

    begin(&fixture);
    uint32_t capacity = elapse__task_table_capacity_needed(&fixture.table);
    assert_true(elapse__task_room_make(&one, capacity, &fixture.memory));
    assert_true(elapse__task_room_make(&other, capacity, &fixture.memory));
    elapse__task_table_grow(&fixture.table, &one);
    elapse__task_table_grow(&fixture.table, &other);
    assert_null(one.blocks);
    assert_non_null(other.blocks); /* the records there are suffice */
    elapse__task_room_release(&one, &fixture.memory);
    elapse__task_room_release(&other, &fixture.memory);
    for (unsigned i = 0; i < 2 * ELAPSE__BLOCK_TASKS; i++) {
        assert_true(elapse__task_table_has_room(&fixture.table));
        take(&fixture);
    }
    assert_false(elapse__task_table_has_room(&fixture.table));
    end(&fixture);
}

/* Both threads asked while one record was left. The second thread finds no record. */
TEST(a_block_without_a_record_is_left_over)
{
    struct fixture fixture;
    struct elapse__task_room room;

    begin(&fixture);
    uint32_t capacity = elapse__task_table_capacity_needed(&fixture.table);
    for (uint32_t block = 0; block < capacity; block++)
        grow(&fixture);
    assert_true(elapse__task_table_capacity_needed(&fixture.table) > capacity);
    assert_true(elapse__task_room_make(&room, 0, &fixture.memory));
    elapse__task_table_grow(&fixture.table, &room);
    assert_non_null(room.tasks);
    elapse__task_room_release(&room, &fixture.memory);
    end(&fixture);
}

TEST(there_is_a_last_block)
{
    struct fixture fixture;
    struct elapse__task_room room;

    begin(&fixture);
    assert_true(elapse__task_room_make(&room, ELAPSE__BLOCKS_MAX, &fixture.memory));
    elapse__task_table_grow(&fixture.table, &room);
    assert_int_equal(elapse__task_table_capacity_needed(&fixture.table), 0);
    fixture.table.block_count = ELAPSE__BLOCKS_MAX;
    assert_int_equal(elapse__task_table_capacity_needed(&fixture.table), UINT32_MAX);
    fixture.table.block_count = 1;
    end(&fixture);
}

/* ---- giving ---- */

TEST(a_task_that_was_given_is_not_found)
{
    struct fixture fixture;

    begin(&fixture);
    struct elapse__task *task = take(&fixture);
    uint32_t index = task->index;
    uint32_t generation = task->generation;
    assert_ptr_equal(find(&fixture, index, generation), task);
    assert_null(find(&fixture, index, generation + 1));
    task->state = ELAPSE__TASK_UNLINKING;
    assert_null(find(&fixture, index, generation));
    give(&fixture, task);
    assert_null(find(&fixture, index, generation));
    assert_null(find(&fixture, index, generation + 1));

    task = take(&fixture);
    /* The task that was used last, which is in the cache, is used first. */
    assert_int_equal(task->index, index);
    assert_null(find(&fixture, index, generation));
    end(&fixture);
}

/* The model of a table: an array of the tasks in use. */
struct model {
    struct elapse__task *live[TASKS];
    size_t count;
    uint32_t used_in_block[BLOCKS];
    uint64_t last_generation[TASKS]; /* that the index was used with */
};

static void model_take(struct fixture *fixture, struct model *model)
{
    struct elapse__task *task = take(fixture);

    assert_in_range(task->index, 0, TASKS - 1);
    assert_true(task->generation > model->last_generation[task->index]);
    model->last_generation[task->index] = task->generation;
    model->used_in_block[task->index / ELAPSE__BLOCK_TASKS]++;
    model->live[model->count++] = task;
}

static void model_give(struct fixture *fixture, struct model *model, size_t place)
{
    struct elapse__task *task = model->live[place];
    uint32_t index = task->index;
    uint32_t generation = task->generation;

    assert_ptr_equal(find(fixture, index, generation), task);
    give(fixture, task);
    assert_null(find(fixture, index, generation));
    model->used_in_block[index / ELAPSE__BLOCK_TASKS]--;
    model->live[place] = model->live[--model->count];
}

static void model_shrink(struct fixture *fixture, struct model *model, uint32_t number)
{
    bool has_tasks = elapse__task_table_at(&fixture->table, number * ELAPSE__BLOCK_TASKS) != NULL;
    bool given_back = shrink(fixture, number);

    if (model->used_in_block[number] > 0)
        assert_false(given_back);
    else if (has_tasks)
        assert_true(given_back);
    if (given_back) {
        assert_null(elapse__task_table_at(&fixture->table, number * ELAPSE__BLOCK_TASKS));
        assert_null(elapse__task_table_shrink(&fixture->table, number));
    }
}

TEST(no_generation_is_used_twice_with_an_index)
{
    static struct model model;
    struct random_source random = {.state = 31};
    struct fixture fixture;
    uint64_t wanted = 0;

    begin(&fixture);
    memset(&model, 0, sizeof model);
    for (unsigned round = 0; round < 1000000; round++) {
        if (round % 50000 == 0)
            wanted = random_one_in(&random, 3) ? 0 : random_below(&random, TASKS - 2048);
        if (random_one_in(&random, 1000))
            model_shrink(&fixture, &model, (uint32_t)random_below(&random, BLOCKS));
        if (model.count < wanted)
            model_take(&fixture, &model);
        else if (model.count > 0)
            model_give(&fixture, &model, random_index(&random, model.count));
        if (model.count > 0 && random_one_in(&random, 4))
            model_give(&fixture, &model, random_index(&random, model.count));
    }
    while (model.count > 0)
        model_give(&fixture, &model, 0);
    for (uint32_t number = 0; number < BLOCKS; number++)
        model_shrink(&fixture, &model, number);
    assert_false(elapse__task_table_has_room(&fixture.table));
    end(&fixture);
}

/* ---- giving blocks back ---- */

TEST(a_block_that_was_given_back_comes_again_with_later_generations)
{
    struct fixture fixture;
    struct elapse__task *task;

    begin(&fixture);
    for (uint32_t life = 1; life <= 5; life++) {
        task = take(&fixture);
        assert_int_equal(task->index, 0);
        assert_int_equal(task->generation, life);
        assert_false(shrink(&fixture, 0)); /* it is in use */
        give(&fixture, task);
        assert_true(shrink(&fixture, 0));
        assert_false(elapse__task_table_has_room(&fixture.table));
        assert_null(find(&fixture, 0, life));
        assert_int_equal(elapse__task_table_capacity_needed(&fixture.table), 0);
    }
    end(&fixture);
}

TEST(any_block_of_those_with_room_can_go)
{
    enum { FEW = 5 };
    struct fixture fixture;

    for (uint32_t first = 0; first < FEW; first++) {
        begin(&fixture);
        for (unsigned block = 0; block < FEW; block++)
            grow(&fixture);
        assert_true(shrink(&fixture, first));
        for (unsigned i = 0; i < (FEW - 1) * ELAPSE__BLOCK_TASKS; i++) {
            assert_true(elapse__task_table_has_room(&fixture.table));
            assert_int_not_equal(take(&fixture)->index / ELAPSE__BLOCK_TASKS, first);
        }
        assert_false(elapse__task_table_has_room(&fixture.table));
        assert_int_equal(take(&fixture)->index / ELAPSE__BLOCK_TASKS, first);
        end(&fixture);
    }
}

/* ---- the end of the generations ---- */

TEST(an_index_without_generations_is_not_used_again)
{
    struct fixture fixture;

    begin(&fixture);
    struct elapse__task *old = take(&fixture);
    for (unsigned i = 1; i < ELAPSE__BLOCK_TASKS; i++)
        take(&fixture);
    age(old);
    assert_ptr_equal(find(&fixture, old->index, UINT32_MAX - 1), old);
    give(&fixture, old);
    assert_null(find(&fixture, old->index, UINT32_MAX - 1));
    assert_null(find(&fixture, old->index, UINT32_MAX));
    assert_false(elapse__task_table_has_room(&fixture.table));
    end(&fixture);
}

TEST(the_others_of_its_block_go_on)
{
    struct fixture fixture;
    struct elapse__task *tasks[ELAPSE__BLOCK_TASKS];

    begin(&fixture);
    for (unsigned i = 0; i < ELAPSE__BLOCK_TASKS; i++)
        tasks[i] = take(&fixture);
    age(tasks[5]);
    for (unsigned i = 0; i < ELAPSE__BLOCK_TASKS; i++)
        give(&fixture, tasks[i]);
    for (unsigned i = 1; i < ELAPSE__BLOCK_TASKS; i++) {
        assert_true(elapse__task_table_has_room(&fixture.table));
        assert_int_not_equal(take(&fixture)->index, 5);
    }
    assert_false(elapse__task_table_has_room(&fixture.table));
    end(&fixture);
}

/* If the block were given back, it would be forgotten which of its indices are used up. */
TEST(a_block_with_such_an_index_stays)
{
    struct fixture fixture;

    begin(&fixture);
    struct elapse__task *old = take(&fixture);
    struct elapse__task *other = take(&fixture);
    give(&fixture, other);
    age(old);
    give(&fixture, old);
    assert_false(shrink(&fixture, 0));
    end(&fixture);
}

/* Places that were never used begin with the block's generation: there is none left for them. */
TEST(nor_are_the_places_of_its_block_that_were_never_used)
{
    struct fixture fixture;

    begin(&fixture);
    struct elapse__task *old = take(&fixture);
    age(old);
    give(&fixture, old);
    assert_false(elapse__task_table_has_room(&fixture.table));
    assert_int_equal(take(&fixture)->index, ELAPSE__BLOCK_TASKS); /* of another block */
    end(&fixture);
}

/* Another task of the block is given back after the task whose index is used up. */
TEST(its_block_is_not_listed_twice)
{
    struct fixture fixture;

    begin(&fixture);
    struct elapse__task *old = take(&fixture);
    struct elapse__task *other = take(&fixture);
    age(old);
    give(&fixture, old);
    give(&fixture, other);
    assert_true(elapse__task_table_has_room(&fixture.table));
    assert_ptr_equal(take(&fixture), other);
    assert_false(elapse__task_table_has_room(&fixture.table));
    for (unsigned i = 0; i < 2 * ELAPSE__BLOCK_TASKS; i++)
        assert_in_range(take(&fixture)->index, ELAPSE__BLOCK_TASKS, 3 * ELAPSE__BLOCK_TASKS - 1);
    end(&fixture);
}

/* ---- prefetching ---- */

TEST(prefetching_any_index_is_harmless)
{
    struct random_source random = {.state = 41};
    struct fixture fixture;

    begin(&fixture);
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        elapse__task_table_prefetch(&fixture.table, 0);
        elapse__task_table_prefetch(&fixture.table, UINT32_MAX);
        for (unsigned bit = 0; bit < 32; bit++) {
            elapse__task_table_prefetch(&fixture.table, UINT32_C(1) << bit);
            elapse__task_table_prefetch(&fixture.table, (UINT32_C(1) << bit) - 1);
        }
        for (unsigned i = 0; i < 1000; i++)
            elapse__task_table_prefetch(&fixture.table, (uint32_t)random_of_bits(&random, 32));
        grow(&fixture);
        if (blocks % 3 == 0)
            assert_true(shrink(&fixture, 0)); /* until the next growth */
    }
    end(&fixture);
}

TEST_MAIN("task table")
