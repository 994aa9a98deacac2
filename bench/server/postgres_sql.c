#include "postgres_sql.h"

#include <stdio.h>

/* A tenth of a table may be dead by default before it is vacuumed. A queue's rows die all the time,
 * so its manual advises less. */
const char *const schema_text =
    "create table jobs ("
    "    id bigint generated always as identity primary key,"
    "    tube text not null,"
    "    key text,"
    "    due timestamptz not null,"
    "    attempt integer not null default 0,"
    "    body bytea not null"
    ") with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);"
    "create index jobs_due on jobs (tube, due);"
    "create unique index jobs_key on jobs (tube, key) where key is not null;";

const struct statement statements[] = {
    {"put", "insert into jobs (tube, due, body) select 't', due, body"
            " from unnest($1::timestamptz[], $2::bytea[]) as job (due, body) returning id"},
    /* A key that is there is replaced, as by the other contenders. */
    {"put-key", "insert into jobs (tube, due, body, key) select 't', due, body, key"
                " from unnest($1::timestamptz[], $2::bytea[], $3::text[]) as job (due, body, key)"
                " on conflict (tube, key) where key is not null"
                " do update set due = excluded.due, body = excluded.body, attempt = 0"
                " returning id"},
    {"delete", "delete from jobs where id = any($1::bigint[])"},
    {"cancel", "delete from jobs where tube = 't' and key = any($1::text[])"},
    {"reschedule", "update jobs set due = moved.due"
                   " from unnest($1::text[], $2::timestamptz[]) as moved (key, due)"
                   " where jobs.tube = 't' and jobs.key = moved.key"},
    {"acknowledge", "delete from jobs using unnest($1::bigint[], $2::integer[])"
                    " as done (id, attempt)"
                    " where jobs.id = done.id and jobs.attempt = done.attempt"},
};
const size_t statement_count = sizeof statements / sizeof *statements;

void write_hand_out(char *to, size_t room, uint64_t jobs)
{
    (void)snprintf(to, room,
                   "update jobs set due = now() + interval '60 s', attempt = attempt + 1"
                   " where id = any(array(select id from jobs where tube = 't' and due <= now()"
                   " order by due limit %llu for update skip locked))"
                   " returning id, attempt, body",
                   (unsigned long long)jobs);
}
