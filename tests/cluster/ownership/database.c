/*
 * Implements the simulated database. database.h says what it does.
 */
#include "database.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1, LOST = -2, LOCK_TIMEOUT_MS = LEASE_MS / 4 };

struct sim_server servers[SERVERS];
struct sim_session sessions[SESSIONS];
struct sim_clock clocks[NODES];
int primary;
void (*sim_violate)(const char *what);

static int64_t loads;
static uint64_t present_ms; /* true time, as a step told it last */

static void fork_server(struct sim_server *server, uint32_t timeline)
{
    server->timeline = timeline;
    server->branch = server->safe = server->written;
}

void database_begin(uint64_t genesis)
{
    loads = 0;
    present_ms = 0;
    memset(clocks, 0, sizeof clocks);
    primary = 0;
    memset(sessions, 0, sizeof sessions);
    for (int i = 0; i < SERVERS; i++) {
        struct sim_write *writes =
            servers[i].writes != NULL ? servers[i].writes : malloc(WRITES_MAX * sizeof *writes);
        if (writes == NULL)
            abort();
        memset(&servers[i], 0, sizeof servers[i]);
        servers[i].writes = writes;
        servers[i].state.row = (struct sim_row){.last_hash = genesis, .tail = 1};
        servers[i].upstream = i == 0 ? NONE : 0;
        servers[i].is_up = true;
        servers[i].is_primary = i == 0;
        servers[i].timeline = 1;
        servers[i].has_names = true;
        servers[i].loaded_us = ++loads;
        servers[i].holder = NONE;
    }
}

void database_end(void)
{
    for (int i = 0; i < SERVERS; i++) {
        free(servers[i].writes);
        servers[i].writes = NULL;
    }
}

/* ---- writes ---- */

static void apply(struct sim_state *state, const struct sim_write *write)
{
    state->row = write->row;
    if (write->group != 0)
        state->groups[write->group] = write->content;
    if (write->made != 0)
        state->tables[write->made - 1] = true;
    for (uint64_t table = 0; table < write->dropped; table++) {
        uint64_t first = table * ELAPSE__LOG_TABLE_GROUPS;
        state->tables[table] = false;
        for (uint64_t i = first; i < first + ELAPSE__LOG_TABLE_GROUPS && i < GROUPS_MAX; i++)
            state->groups[i].is_there = false;
    }
}

bool database_has(int server, unsigned writes, uint64_t group, uint64_t hash)
{
    const struct sim_server *from = &servers[server];
    if (group == 0)
        return true;
    for (unsigned i = writes; i-- > 0;)
        if (from->writes[i].group == group)
            return from->writes[i].row.last_hash == hash;
    return false;
}

unsigned database_replicated(int server)
{
    unsigned most = 0;
    for (int i = 0; i < SERVERS; i++)
        if (servers[i].is_up && servers[i].upstream == server && servers[i].written > most)
            most = servers[i].written;
    return most;
}

bool database_replicate(int server, unsigned count)
{
    struct sim_server *standby = &servers[server];
    if (!standby->is_up || standby->upstream == NONE || !servers[standby->upstream].is_up)
        return false;
    struct sim_server *from = &servers[standby->upstream];
    bool has_more = standby->written < from->written;
    for (; count > 0 && standby->written < from->written; count--) {
        standby->writes[standby->written] = from->writes[standby->written];
        apply(&standby->state, &standby->writes[standby->written]);
        standby->written++;
    }
    if (standby->written > from->safe)
        from->safe = standby->written;
    return has_more;
}

static void describe(const struct sim_server *server, struct elapse__partition_settings *settings)
{
    settings->standby_names = server->has_names ? "ANY 1 (a, b)" : "";
    settings->commit = "on";
    settings->loaded_us = server->loaded_us;
    settings->clock_ms = SIM_EPOCH_MS + (int64_t)present_ms + server->ahead_ms;
}

static void answer(struct sim_session *session)
{
    session->result.serial = session->statement.serial;
    describe(&servers[session->server], &session->result.after);
    session->state = SIM_ANSWERED;
    if (session->node == NONE)
        session->state = SIM_FREE;
}

static void lose_session(struct sim_session *session)
{
    session->result.outcome = ELAPSE__OUTCOME_LOST;
    answer(session);
}

/* The write becomes visible; its session goes on, or is lost. */
static void end_wait(int number, bool noticed, bool lost)
{
    struct sim_server *server = &servers[number];
    assert(server->is_pending);
    apply(&server->state, &server->writes[server->written - 1]);
    server->is_pending = false;
    if (server->holder >= 0) {
        struct sim_session *session = &sessions[server->holder];
        session->result.noticed = noticed;
        if (lost)
            lose_session(session);
        else
            answer(session);
    }
    server->holder = NONE;
}

/* A write has run: it waits for a standby, where there are names. */
static void commit(int session, const struct sim_write *write)
{
    int number = sessions[session].server;
    struct sim_server *server = &servers[number];
    assert(!server->is_pending);
    if (server->written == WRITES_MAX)
        abort();
    server->writes[server->written++] = *write;
    server->is_pending = true;
    server->holder = session;
    sessions[session].state = SIM_WAITING;
    if (!server->has_names)
        end_wait(number, false, false);
}

bool database_release(int number)
{
    struct sim_server *server = &servers[number];
    if (!server->is_up || !server->is_pending || database_replicated(number) < server->written)
        return false;
    end_wait(number, false, false);
    return true;
}

bool database_cancel(int number)
{
    if (!servers[number].is_up || !servers[number].is_pending)
        return false;
    end_wait(number, true, false);
    return true;
}

bool database_terminate(int number)
{
    if (!servers[number].is_up || !servers[number].is_pending)
        return false;
    end_wait(number, false, true);
    return true;
}

void database_set_names(int number, bool has_names)
{
    struct sim_server *server = &servers[number];
    server->has_names = has_names;
    server->loaded_us = ++loads;
    if (!has_names && server->is_pending)
        end_wait(number, false, false);
}

void database_flap_names(int number)
{
    servers[number].loaded_us = ++loads;
    if (servers[number].is_pending)
        end_wait(number, false, false);
}

/* ---- servers ---- */

static void lose_sessions(int number)
{
    for (int i = 0; i < SESSIONS; i++) {
        struct sim_session *session = &sessions[i];
        bool is_open = session->state != SIM_FREE && session->server == number;
        if (is_open && session->node == NONE)
            session->state = SIM_FREE;
        else if (is_open && session->state == SIM_ANSWERED)
            session->is_dead = true;
        else if (is_open)
            lose_session(session);
    }
}

void database_crash(int number, bool keeps_pending)
{
    struct sim_server *server = &servers[number];
    if (server->is_pending) {
        bool is_sent = database_replicated(number) >= server->written;
        if (keeps_pending || is_sent)
            apply(&server->state, &server->writes[server->written - 1]);
        else
            server->written--;
        server->is_pending = false;
        server->holder = NONE;
    }
    lose_sessions(number);
}

/* Returns the standby to promote. The right one has most, and all from before its primary was
 * promoted itself. */
static int candidate(bool wrong)
{
    int best = NONE;
    for (int i = 0; i < SERVERS; i++) {
        if (!servers[i].is_up || servers[i].upstream != primary)
            continue;
        if (best == NONE || (servers[i].written > servers[best].written) != wrong)
            best = i;
    }
    if (best == NONE)
        return NONE;
    bool is_right = servers[best].written == database_replicated(primary) &&
                    servers[best].written >= servers[primary].branch;
    return is_right != wrong ? best : NONE;
}

bool database_fail_over(bool wrong, bool lives_on)
{
    int chosen = candidate(wrong), old = primary;
    if (chosen == NONE)
        return false;
    if (!lives_on) {
        database_crash(old, true);
        servers[old].is_up = false;
        servers[old].is_primary = false;
    }
    for (int i = 0; i < SERVERS; i++)
        if (servers[i].upstream == old)
            servers[i].upstream = NONE;
    uint32_t timeline = 0;
    for (int i = 0; i < SERVERS; i++)
        if (servers[i].timeline > timeline)
            timeline = servers[i].timeline;
    primary = chosen;
    servers[chosen].is_primary = true;
    servers[chosen].loaded_us = ++loads;
    fork_server(&servers[chosen], timeline + 1);
    return true;
}

static bool is_same_write(const struct sim_write *left, const struct sim_write *right)
{
    return left->row.epoch == right->row.epoch && left->row.beat == right->row.beat &&
           left->row.last_hash == right->row.last_hash && left->row.tail == right->row.tail &&
           left->row.is_marked == right->row.is_marked &&
           left->row.is_missed == right->row.is_missed &&
           strcmp(left->row.owner, right->row.owner) == 0 && left->made == right->made &&
           left->dropped == right->dropped;
}

/* Returns whether the one has nothing that the other has not. */
static bool leads_to(const struct sim_server *standby, const struct sim_server *from)
{
    if (standby->written > from->written)
        return false;
    for (unsigned i = 0; i < standby->written; i++)
        if (!is_same_write(&standby->writes[i], &from->writes[i]))
            return false;
    return true;
}

void database_follow(int number, int upstream)
{
    struct sim_server *standby = &servers[number];
    const struct sim_server *from = &servers[upstream];
    assert(number != upstream && from->is_primary);
    if (standby->is_primary || standby->is_pending)
        database_crash(number, true);
    bool leads = leads_to(standby, from);
    standby->is_up = true;
    standby->is_primary = false;
    standby->upstream = upstream;
    standby->safe = 0;
    standby->timeline = from->timeline;
    standby->branch = from->branch;
    if (leads)
        return;
    standby->state = from->state;
    standby->written = from->written - (from->is_pending ? 1 : 0);
    memcpy(standby->writes, from->writes, standby->written * sizeof *standby->writes);
}

/* ---- sessions ---- */

int database_connect(int node, int server)
{
    if (!servers[server].is_up)
        return NONE;
    for (int i = 0; i < SESSIONS; i++) {
        if (sessions[i].state != SIM_FREE)
            continue;
        sessions[i] = (struct sim_session){.state = SIM_IDLE, .server = server, .node = node};
        return i;
    }
    return NONE;
}

void database_detach(int number)
{
    struct sim_session *session = &sessions[number];
    session->node = NONE;
    if (session->state == SIM_IDLE || session->state == SIM_ANSWERED)
        session->state = SIM_FREE;
}

void database_send(int number, const struct elapse__statement *statement, const char *me,
                   uint64_t at)
{
    struct sim_session *session = &sessions[number];
    session->statement = *statement;
    if (session->is_dead || session->state == SIM_ANSWERED) {
        lose_session(session); /* the server has ended it meanwhile */
        return;
    }
    assert(session->state == SIM_IDLE);
    session->sent_at = at;
    session->state = SIM_SENT;
    (void)snprintf(session->me, sizeof session->me, "%s", me);
    memset(&session->result, 0, sizeof session->result);
    if (statement->kind == ELAPSE__STATEMENT_APPEND) {
        assert(statement->size == GROUP_BYTES);
        memcpy(session->bytes, statement->bytes, GROUP_BYTES);
    }
}

/* ---- statements ---- */

static void fill_row(struct sim_session *session, const struct sim_row *row)
{
    session->row = *row;
    session->result.count = 1;
    session->result.row = (struct elapse__partition_row){
        .epoch = row->epoch,
        .beat = row->beat,
        .last_group = row->last_group,
        .last_hash = row->last_hash,
        .tail = row->tail,
        .lease_ms = LEASE_MS,
        .owner = session->row.owner,
        .address = session->row.owner,
        .stopped = row->is_marked ? "marked" : "",
    };
}

static void read_log(struct sim_session *session, const struct sim_state *state)
{
    uint64_t group = session->statement.group;
    uint64_t table = group / ELAPSE__LOG_TABLE_GROUPS, count = 0;
    for (; group < GROUPS_MAX && group / ELAPSE__LOG_TABLE_GROUPS == table; group++) {
        const struct sim_group *content = &state->groups[group];
        if (!content->is_there)
            break;
        memcpy(session->log_bytes[count], content->bytes, GROUP_BYTES);
        session->log[count] =
            (struct elapse__partition_log_row){group, content->epoch, content->hash_of_previous,
                                               session->log_bytes[count], GROUP_BYTES};
        count++;
    }
    session->result.log = session->log;
    session->result.count = count;
}

/* Like elapse.tell_clock. */
static void tell_clock(struct sim_session *session)
{
    int64_t now_ms = session->result.before.clock_ms, ahead_ms = session->statement.ahead_ms;
    if (session->node == NONE)
        return;
    clocks[session->node] = (struct sim_clock){ahead_ms, now_ms};
    struct elapse__clock_others *others = &session->result.others;
    for (int i = 0; i < NODES; i++) {
        int64_t age_ms = now_ms - clocks[i].seen_ms;
        if (i == session->node || age_ms < 0 || age_ms > 2 * LEASE_MS)
            continue;
        others->living++;
        others->right += llabs(clocks[i].ahead_ms) <= ELAPSE__CLOCK_APART_MS;
        others->agreeing += llabs(clocks[i].ahead_ms - ahead_ms) <= ELAPSE__CLOCK_APART_MS;
    }
}

static bool is_owner(const struct sim_session *session, const struct sim_row *row)
{
    return row->epoch == session->statement.epoch && strcmp(row->owner, session->me) == 0;
}

/* Returns false if an error comes back. */
static bool append(const struct sim_session *session, const struct sim_state *state,
                   struct sim_write *write)
{
    const struct elapse__statement *statement = &session->statement;
    uint64_t group = statement->group;
    if (!state->tables[group / ELAPSE__LOG_TABLE_GROUPS] || state->groups[group].is_there)
        return false;
    if (statement->previous_hash != state->row.last_hash)
        sim_violate("the chain forks: an append does not continue the log");
    write->row.last_group = group;
    write->row.last_hash = statement->hash;
    write->row.beat++;
    write->group = group;
    write->content = (struct sim_group){
        .is_there = true, .epoch = statement->epoch, .hash_of_previous = statement->previous_hash};
    memcpy(write->content.bytes, session->bytes, GROUP_BYTES);
    return true;
}

/* Runs a write. Returns whether there is one to commit. */
static bool change(struct sim_session *session, const struct sim_state *state,
                   struct sim_write *write)
{
    const struct elapse__statement *statement = &session->statement;
    const struct sim_row *row = &state->row;
    switch (statement->kind) {
    case ELAPSE__STATEMENT_TAKE_OVER:
        if (row->epoch != statement->epoch || row->beat != statement->beat ||
            row->last_group != statement->group || row->is_marked)
            return false;
        write->row.epoch++;
        write->row.beat++;
        (void)snprintf(write->row.owner, sizeof write->row.owner, "%s", session->me);
        break;
    case ELAPSE__STATEMENT_BEAT:
        if (!is_owner(session, row))
            return false;
        write->row.beat++;
        if (statement->tail > row->tail)
            write->row.tail = statement->tail;
        break;
    case ELAPSE__STATEMENT_RELEASE:
        if (!is_owner(session, row))
            return false;
        write->row.beat++;
        write->row.owner[0] = '\0';
        break;
    case ELAPSE__STATEMENT_APPEND:
        if (row->epoch != statement->epoch || row->last_group != statement->group - 1 ||
            row->is_marked)
            return false;
        if (!append(session, state, write)) {
            session->result.outcome = ELAPSE__OUTCOME_ERROR;
            return false;
        }
        break;
    case ELAPSE__STATEMENT_MARK:
        if (row->epoch > statement->epoch) {
            write->row.is_missed = true;
            break;
        }
        write->row.beat += !row->is_marked;
        write->row.epoch = statement->epoch;
        write->row.is_marked = true;
        break;
    case ELAPSE__STATEMENT_MAKE_TABLE:
        write->made = statement->table + 1;
        break;
    default:
        if (statement->table * ELAPSE__LOG_TABLE_GROUPS > row->tail)
            sim_violate("a table of the log is dropped that is needed");
        write->dropped = statement->table;
        break;
    }
    if (statement->kind == ELAPSE__STATEMENT_TAKE_OVER ||
        statement->kind == ELAPSE__STATEMENT_BEAT || statement->kind == ELAPSE__STATEMENT_MARK)
        fill_row(session, &write->row);
    else if (statement->kind == ELAPSE__STATEMENT_APPEND)
        session->result.count = 1;
    return true;
}

/* A write waits for the lock, and then gives up. Returns false if it waits. */
static bool run_write(int number, uint64_t at)
{
    struct sim_session *session = &sessions[number];
    struct sim_server *server = &servers[session->server];
    if (server->is_pending) {
        if (at < session->sent_at + LOCK_TIMEOUT_MS)
            return false;
        session->result.outcome = ELAPSE__OUTCOME_LOCKED;
        answer(session);
        return true;
    }
    struct sim_write write = {.row = server->state.row};
    if (!server->is_primary) {
        session->result.outcome = ELAPSE__OUTCOME_ERROR;
        answer(session);
    } else if (change(session, &server->state, &write)) {
        commit(number, &write);
    } else {
        answer(session);
    }
    return true;
}

bool database_run(int number, uint64_t at)
{
    struct sim_session *session = &sessions[number];
    struct sim_server *server = &servers[session->server];
    present_ms = at;
    if (session->state != SIM_SENT)
        return false;
    describe(server, &session->result.before);
    switch (session->statement.kind) {
    case ELAPSE__STATEMENT_SESSION:
        session->result.session =
            (struct elapse__partition_session){.system_identifier = 7,
                                               .timeline = server->timeline,
                                               .in_recovery = !server->is_primary};
        session->result.count = 1;
        break;
    case ELAPSE__STATEMENT_READ_ROW:
        fill_row(session, &server->state.row);
        break;
    case ELAPSE__STATEMENT_READ_LOG:
        read_log(session, &server->state);
        break;
    case ELAPSE__STATEMENT_CLOCKS:
        tell_clock(session);
        break;
    case ELAPSE__STATEMENT_TERMINATE:
        (void)database_terminate(session->server);
        break;
    default:
        return run_write(number, at);
    }
    answer(session);
    return true;
}
