-- The transactional inbox: an application puts, cancels and reschedules jobs inside its own
-- transactions. docs/guide/inbox.md says how to use it, and what it promises.
--
--      begin;
--      insert into orders ...;
--      select elapse.put('orders', 'order 4711', delay => '30 minutes', key => '4711');
--      commit;                       both, or neither
--
--      elapse.put, arrive, cancel,    --> elapse.inbox --> the owner of the partition: it polls
--      reschedule                                          elapse.inbox_rows, runs the rows, and
--                                                          moves them into its log in one
--                                                          statement, with elapse.inbox_move
--      rows that the queue refuses   --> elapse.inbox_refused, with the reason
--
-- Run this script in the database of the application, which is also that of the cluster, as the role
-- that the nodes connect as. It owns the schema elapse:
--
--      psql -v ON_ERROR_STOP=1 -f inbox.sql DATABASE
--
-- It can be run again at any time: it upgrades an older version, keeps every row, and refuses to
-- replace a newer one. It is one transaction. PostgreSQL 15 or later.
--
-- Two roles without login, to be granted to others:
--
--      elapse_caller   may call elapse.put, arrive, cancel and reschedule, and nothing else
--      elapse_node     may poll and move rows, and read what was refused
begin;

set local client_min_messages = warning;
-- The same in schema.sql of the program and in inbox.sql, either of which may be the first. Two at
-- once: the second one waits. One role owns all, because the owner of a schema can put functions of
-- its own in the way of those of others.
do $$
declare
    owner name;
begin
    perform pg_advisory_xact_lock(hashtextextended('elapse schema', 0));
    select rolname into owner from pg_namespace join pg_roles r on r.oid = nspowner
        where nspname = 'elapse';
    if owner is null then
        create schema elapse;
    elsif owner <> current_user then
        raise exception 'the schema elapse belongs to the role %, and this is %', owner, current_user
            using errcode = 'insufficient_privilege',
                hint = 'Connect as its owner, which is the role that the nodes connect as.';
    end if;
    if to_regclass('elapse.version') is null then
        create table elapse.version (component text primary key, version integer not null);
        revoke all on elapse.version from public;
    end if;
end
$$;

do $$
declare
    present integer := (select version from elapse.version where component = 'inbox');
begin
    if current_setting('server_version_num')::integer < 150000 then
        raise exception 'the inbox needs PostgreSQL 15 or later';
    end if;
    if present > 5 then
        raise exception 'the inbox in this database has version %, and this script is of version 5',
            present
            using hint = 'Use the script of the newer version.';
    end if;
end
$$;

-- ---- tables ----

-- The queues that take calls. A node enters its queue by elapse.inbox_open.
create table if not exists elapse.inbox_queue (
    queue text primary key,
    parts integer not null check (parts between 1 and 1024), -- the same for ever
    body_bytes_max integer not null check (body_bytes_max between 1 and 33554432)
);

-- Version 3: whether braces in the name of a tube choose its partition, the same for ever.
do $$
begin
    if not exists (select from pg_attribute
            where attrelid = 'elapse.inbox_queue'::regclass and attname = 'hash_tags') then
        alter table elapse.inbox_queue add hash_tags boolean not null default false;
    end if;
end
$$;

-- One number for each call. It must not be cached by sessions: of two calls, where the second began
-- when the first had returned, the second has the greater number.
create sequence if not exists elapse.inbox_id as bigint cache 1;

-- Texts are in the encoding of the database, and leave as UTF-8. All times are whole milliseconds.
create table if not exists elapse.inbox (
    queue text not null,
    part integer not null, -- the partition that runs it
    id bigint not null,
    made timestamptz not null default clock_timestamp(),
    what text not null check (what in ('put', 'cancel', 'reschedule', 'arrive')),
    tube text not null,
    key text,
    tag text,
    token text,
    body bytea,
    due text check (due in ('in', 'at', 'every', 'cron')), -- null: none, which a put has with `await` alone
    due_ms bigint, -- in: from `made`; at: since 1970; every: the period
    cron text,
    zone text,
    ifkey text check (ifkey in ('replace', 'keep', 'fail', 'debounce')),
    max_ms bigint,
    priority bigint,
    ttr_ms bigint,
    expire_ms bigint,
    retry bigint,
    backoff_min_ms bigint,
    backoff_max_ms bigint,
    headers bytea,
    await bigint, -- put: how many have to arrive; arrive: how many arrive
    primary key (queue, part, id)
);

-- A row lives for some milliseconds, and its place has to be clean again before many more have
-- come. To cut off the end of the table would lock out callers, here and on the standbys.
alter table elapse.inbox alter column body set storage external;
alter table elapse.inbox set (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 1000000,
    vacuum_truncate = false,
    toast.autovacuum_vacuum_scale_factor = 0,
    toast.autovacuum_vacuum_threshold = 1000,
    toast.autovacuum_vacuum_cost_delay = 0,
    toast.vacuum_truncate = false
);

-- What the queue refused: the row as it was, and why. Nothing reads it but people.
create table if not exists elapse.inbox_refused (
    like elapse.inbox,
    reason text not null,
    refused timestamptz not null default clock_timestamp(),
    primary key (id)
);
alter table elapse.inbox_refused alter column body set storage external;

-- Version 1 had no headers. A table that has them is left alone, because to alter it waits for all who
-- use it. elapse.put had one argument less; `create or replace` would make a second function, and calls
-- that fit both would fail.
do $$
declare
    name text;
begin
    foreach name in array array['elapse.inbox', 'elapse.inbox_refused'] loop
        if not exists (select from pg_attribute
                where attrelid = name::regclass and attname = 'headers') then
            execute format('alter table %s add headers bytea', name);
        end if;
    end loop;
    foreach name in array array['bytea', 'text'] loop
        execute format('drop function if exists elapse.put(text, %s, interval, timestamptz, interval,'
            ' text, text, text, text, text, interval, bigint, interval, interval, bigint, interval,'
            ' interval, text, text)', name);
    end loop;
    -- Version 3: these have one argument more.
    drop function if exists elapse.inbox_part(integer, bytea, bytea, bytea, bigint);
    drop function if exists elapse.inbox_open(text, integer, integer);
end
$$;

-- Version 3 knew no arrivals. elapse.put had one argument less, and so had the check of the level.
do $$
declare
    name text;
begin
    foreach name in array array['elapse.inbox', 'elapse.inbox_refused'] loop
        if not exists (select from pg_attribute
                where attrelid = name::regclass and attname = 'await') then
            execute format('alter table %s add await bigint', name);
        end if;
    end loop;
    if not exists (select from pg_constraint where conrelid = 'elapse.inbox'::regclass
            and conname = 'inbox_what_check' and pg_get_constraintdef(oid) like '%arrive%') then
        alter table elapse.inbox drop constraint if exists inbox_what_check,
            add constraint inbox_what_check
                check (what in ('put', 'cancel', 'reschedule', 'arrive'));
    end if;
    foreach name in array array['bytea', 'text'] loop
        execute format('drop function if exists elapse.put(text, %s, interval, timestamptz, interval,'
            ' text, text, text, text, text, interval, bigint, interval, interval, bigint, interval,'
            ' interval, text, text, text)', name);
    end loop;
    drop function if exists elapse.inbox_check_level(text);
end
$$;

-- ---- checks ----

-- These run within the functions below alone, which set the search path; to set it again in each
-- would cost more than they do.

-- Requires that `value` is not null. Returns the bytes of a text as the queue has them.
create or replace function elapse.inbox_text(name text, value text, bytes_max integer)
returns bytea language plpgsql immutable
as $$
declare
    bytes bytea := convert_to(value, 'UTF8');
begin
    if octet_length(bytes) not between 1 and bytes_max then
        raise exception '% must have 1 to % bytes, and this one has %',
            name, bytes_max, octet_length(bytes)
            using errcode = 'invalid_parameter_value';
    end if;
    return bytes;
end
$$;

-- Returns a duration in milliseconds, rounded up; null for null.
create or replace function elapse.inbox_ms(name text, value interval, ms_min bigint)
returns bigint language plpgsql immutable
as $$
declare
    ms numeric := ceil(extract(epoch from value) * 1000);
begin
    if extract(year from value) <> 0 or extract(month from value) <> 0 then
        raise exception '%: months and years have no fixed length: %', name, value
            using errcode = 'invalid_parameter_value',
                hint = 'Use at => now() + interval, or days.';
    end if;
    if value < interval '0' or ms not between ms_min and 9223372036854 then
        raise exception '% must be from % ms to 292 years, not %', name, ms_min, value
            using errcode = 'invalid_parameter_value';
    end if;
    return ms::bigint;
end
$$;

-- Returns a wall-clock time in milliseconds since 1970, rounded up; 0 for an earlier one.
create or replace function elapse.inbox_at_ms(at timestamptz)
returns bigint language plpgsql immutable
as $$
begin
    if at in ('infinity', '-infinity') or at >= timestamptz '10000-01-01 00:00:00+00' then
        raise exception 'at must be a time before the year 10000, not %', at
            using errcode = 'invalid_parameter_value';
    end if;
    return greatest(ceil(extract(epoch from at) * 1000), 0)::bigint;
end
$$;

create or replace function elapse.inbox_number(name text, value bigint)
returns bigint language plpgsql immutable
as $$
begin
    if value not between 0 and 4294967295 then
        raise exception '% must be from 0 to 4294967295, not %', name, value
            using errcode = 'invalid_parameter_value';
    end if;
    return value;
end
$$;

create or replace function elapse.inbox_count(name text, value bigint)
returns bigint language plpgsql immutable
as $$
begin
    if value not between 1 and 4294967295 then
        raise exception '% must be from 1 to 4294967295, not %', name, value
            using errcode = 'invalid_parameter_value';
    end if;
    return value;
end
$$;

-- ---- which partition ----

-- The partition of a key: FNV-1a of 64 bits over the length of the tube's name (one byte), the name
-- and the key; then (hash xor hash >> 32) modulo the number of partitions, without a sign. The nodes
-- route by the same rule, and it is for ever: all jobs with one key have to be in one partition.
--
-- A bigint cannot take the product, so the hash has two halves of 32 bits. The factor is
-- 2^40 + 435.
create or replace function elapse.inbox_part_of_key(parts integer, tube bytea, key bytea)
returns integer language plpgsql immutable strict
as $$
declare
    bytes bytea := set_byte('\x00', 0, octet_length(tube)) || tube || key;
    high bigint := 3421674724; -- cbf29ce4
    low bigint := 2216829733;  -- 84222325
begin
    for i in 0 .. octet_length(bytes) - 1 loop
        low := low # get_byte(bytes, i);
        high := (high * 435 + ((low * 435) >> 32) + (low << 8)) & 4294967295;
        low := (low * 435) & 4294967295;
    end loop;
    return ((high % parts) * (4294967296 % parts) + (low # high)) % parts;
end
$$;

-- Returns what stands in braces in the name of a tube: between the first { and the first } behind it.
-- Null if there is nothing.
create or replace function elapse.inbox_braces(tube bytea)
returns bytea language plpgsql immutable strict
as $$
declare
    opening integer := position('\x7b'::bytea in tube);
    rest bytea := substring(tube from opening + 1);
    closing integer := position('\x7d'::bytea in rest);
begin
    if opening = 0 or closing < 2 then
        return null;
    end if;
    return substring(rest from 1 for closing - 1);
end
$$;

-- In a queue with hash tags braces decide: the part in them is a tube, and the key empty. Otherwise a
-- key decides; without one a token, so that a repeated put finds the first one; without either the
-- number of the row.
create or replace function elapse.inbox_part(parts integer, hash_tags boolean, tube bytea,
                                             key bytea, token bytea, id bigint)
returns integer language sql immutable
as $$
    select case
        when parts = 1 then 0
        when hash_tags and elapse.inbox_braces(tube) is not null
            then elapse.inbox_part_of_key(parts, elapse.inbox_braces(tube), '\x'::bytea)
        when key is not null then elapse.inbox_part_of_key(parts, tube, key)
        when token is not null then elapse.inbox_part_of_key(parts, '\x'::bytea, token)
        else id % parts
    end::integer
$$;

-- Returns the facts of a queue.
create or replace function elapse.inbox_find_queue(name text)
returns elapse.inbox_queue language plpgsql stable
as $$
declare
    found_queue elapse.inbox_queue;
begin
    select * into found_queue from elapse.inbox_queue q where q.queue = name;
    if not found then
        raise exception 'there is no queue %', coalesce(quote_literal(name), 'null')
            using errcode = 'invalid_parameter_value',
                hint = 'A node of the cluster enters its queue when it starts.';
    end if;
    return found_queue;
end
$$;

-- Wakes the owner of a partition when this transaction commits, if the owner sleeps. While rows come,
-- and for a second afterwards, the owner polls anyway and holds an advisory lock, which only says so
-- (elapse.inbox_rows). Then no transaction pays for a notification: those that notify commit one after
-- the other, each with its wait for a standby.
--
-- PostgreSQL cannot prepare a transaction that has notified. A program that uses PREPARE TRANSACTION sets
-- elapse.notify to off, and then its rows wait for the next poll.
create or replace function elapse.inbox_tell(queue_name text, part_number integer)
returns void language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    channel text := elapse.inbox_channel(queue_name, part_number);
    lock_number bigint := hashtextextended(channel, 0); -- that of elapse.inbox_rows
begin
    if coalesce(current_setting('elapse.notify', true), '') = 'off' then
        return;
    end if;
    -- Only a look: a lock until the commit would be in the owner's way as long as anybody calls.
    if pg_try_advisory_lock_shared(lock_number) then
        perform pg_advisory_unlock_shared(lock_number);
        perform pg_notify(channel, '');
    end if;
end
$$;

-- The channel that the owner of a partition listens on. Nodes make the same name (names.c).
create or replace function elapse.inbox_channel(queue_name text, part_number integer)
returns text language sql immutable strict parallel safe
as $$
    select pg_catalog.format('elapse/%s/%s', queue_name, part_number)
$$;

-- Refuses headers and arrivals while there may be nodes of version 0.2, which know none: they would
-- refuse the row. A row of elapse.queue without a level is of such a version.
create or replace function elapse.inbox_check_level(queue_name text, news text)
returns void language plpgsql stable
as $$
declare
    level integer := 1;
begin
    if to_regclass('elapse.queue') is not null then
        execute 'select coalesce(to_jsonb(q) ->> ''level'', ''0'')::integer'
            ' from elapse.queue q where q.name = $1'
        into level using queue_name;
    end if;
    if level < 1 then
        raise exception 'upgrade all nodes first: the queue takes no % yet', news
            using errcode = 'invalid_parameter_value',
                hint = 'elapse cluster upgrade says that no node of version 0.2 is left.';
    end if;
end
$$;

-- ---- what applications call ----

-- Each returns the number of its call, which a refused row keeps.

create or replace function elapse.put(
    tube text,
    body bytea,
    delay interval default null,
    at timestamptz default null,
    every interval default null,
    cron text default null,
    zone text default null,
    key text default null,
    tag text default null,
    ifkey text default null,
    max interval default null,
    priority bigint default null,
    ttr interval default null,
    expire interval default null,
    retry bigint default null,
    backoff_min interval default null,
    backoff_max interval default null,
    token text default null,
    queue text default 'main',
    headers text default null,
    await bigint default null
)
returns bigint language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    home elapse.inbox_queue := elapse.inbox_find_queue(put.queue);
    number bigint;
    part integer;
    tube_bytes bytea;
    key_bytes bytea;
    token_bytes bytea;
    headers_bytes bytea;
    due text;
    due_ms bigint;
    -- A gatherer that is put again must not begin its count anew.
    if_key text := lower(coalesce(ifkey, case when await is null then 'replace' else 'keep' end));
    debounce_ms bigint;
    backoff_min_ms bigint;
    backoff_max_ms bigint;
begin
    if tube is null or body is null then
        raise exception 'tube and body must not be null' using errcode = 'invalid_parameter_value';
    end if;
    tube_bytes := elapse.inbox_text('a tube', tube, 200);
    if octet_length(body) > home.body_bytes_max then
        raise exception 'the body has % bytes, and this queue takes %',
            octet_length(body), home.body_bytes_max
            using errcode = 'invalid_parameter_value';
    end if;
    if key is not null then
        key_bytes := elapse.inbox_text('a key', key, 250);
    end if;
    if tag is not null then
        perform elapse.inbox_text('a tag', tag, 250);
    end if;
    if token is not null then
        token_bytes := elapse.inbox_text('a token', token, 250);
    end if;
    if headers is not null then
        perform elapse.inbox_check_level(home.queue, 'headers');
        headers_bytes := elapse.inbox_text('headers', headers, 4096);
    end if;

    if num_nonnulls(delay, at, every, cron) > 1 then
        raise exception 'only one of delay, at, every and cron'
            using errcode = 'invalid_parameter_value';
    end if;
    if zone is not null and cron is null then
        raise exception 'zone needs cron' using errcode = 'invalid_parameter_value';
    end if;
    if at is not null then
        due := 'at';
        due_ms := elapse.inbox_at_ms(at);
    elsif every is not null then
        due := 'every';
        due_ms := elapse.inbox_ms('every', every, 1);
    elsif cron is not null then
        due := 'cron';
        perform elapse.inbox_text('a cron expression', cron, 1023);
        if zone is not null then
            perform elapse.inbox_text('a zone', zone, 64);
        end if;
    elsif delay <> '0' or await is null then -- with `await`, a delay of 0 is none
        due := 'in';
        due_ms := coalesce(elapse.inbox_ms('delay', delay, 0), 0);
    end if;
    if await is not null then
        perform elapse.inbox_check_level(home.queue, 'arrivals'), elapse.inbox_count('await', await);
        if key is null then
            raise exception 'await needs key' using errcode = 'invalid_parameter_value';
        end if;
        if due in ('every', 'cron') then
            raise exception 'a job that recurs waits for no arrivals'
                using errcode = 'invalid_parameter_value';
        end if;
        if if_key = 'debounce' then
            raise exception 'a job with debounce waits for no arrivals'
                using errcode = 'invalid_parameter_value';
        end if;
    end if;

    if if_key not in ('replace', 'keep', 'fail', 'debounce') then
        raise exception 'ifkey takes replace, keep, fail or debounce, not %', quote_literal(ifkey)
            using errcode = 'invalid_parameter_value';
    end if;
    if ifkey is not null and key is null then
        raise exception 'ifkey needs key' using errcode = 'invalid_parameter_value';
    end if;
    if (if_key = 'debounce') <> (max is not null) then
        raise exception 'debounce and max belong together'
            using errcode = 'invalid_parameter_value';
    end if;
    if if_key = 'debounce' then
        debounce_ms := elapse.inbox_ms('max', max, 0);
        if due <> 'in' then
            raise exception 'debounce needs a delay' using errcode = 'invalid_parameter_value';
        end if;
        if debounce_ms < due_ms then
            raise exception 'max is less than the delay' using errcode = 'invalid_parameter_value';
        end if;
    end if;

    if (backoff_min is null) <> (backoff_max is null) then
        raise exception 'backoff_min and backoff_max belong together'
            using errcode = 'invalid_parameter_value';
    end if;
    backoff_min_ms := coalesce(elapse.inbox_ms('backoff_min', backoff_min, 0), 0);
    backoff_max_ms := coalesce(elapse.inbox_ms('backoff_max', backoff_max, 0), 0);
    if backoff_min is null then
        backoff_min_ms := 1000;
        backoff_max_ms := 600000;
    end if;
    if backoff_max_ms < backoff_min_ms then
        raise exception 'backoff_max is less than backoff_min'
            using errcode = 'invalid_parameter_value';
    end if;

    number := nextval('elapse.inbox_id');
    part := elapse.inbox_part(home.parts, home.hash_tags, tube_bytes, key_bytes, token_bytes, number);
    insert into elapse.inbox (queue, part, id, what, tube, key, tag, token, body, due, due_ms, cron,
                              zone, ifkey, max_ms, priority, ttr_ms, expire_ms, retry,
                              backoff_min_ms, backoff_max_ms, headers, await)
    values (home.queue, part, number,
            'put', tube, key, tag, token, body, due, due_ms, cron, zone, if_key, debounce_ms,
            elapse.inbox_number('priority', coalesce(priority, 1024)),
            elapse.inbox_ms('ttr', coalesce(ttr, '60 s'), 1),
            elapse.inbox_ms('expire', coalesce(expire, '0 s'), 0),
            elapse.inbox_number('retry', coalesce(retry, 20)),
            backoff_min_ms, backoff_max_ms, headers_bytes, await);
    perform elapse.inbox_tell(home.queue, part);
    return number;
end
$$;

-- The same with a text, which is stored as UTF-8.
create or replace function elapse.put(
    tube text,
    body text,
    delay interval default null,
    at timestamptz default null,
    every interval default null,
    cron text default null,
    zone text default null,
    key text default null,
    tag text default null,
    ifkey text default null,
    max interval default null,
    priority bigint default null,
    ttr interval default null,
    expire interval default null,
    retry bigint default null,
    backoff_min interval default null,
    backoff_max interval default null,
    token text default null,
    queue text default 'main',
    headers text default null,
    await bigint default null
)
returns bigint language sql
as $$
    select elapse.put(tube, pg_catalog.convert_to(body, 'UTF8'), delay, at, every, cron, zone, key,
                      tag, ifkey, max, priority, ttr, expire, retry, backoff_min, backoff_max,
                      token, queue, headers, await)
$$;

-- Arrivals at the job with the key, which waits for them: a put with `await`. With a token they count
-- once, whoever calls again while the token lives. More than are missing are as many as are missing.
create or replace function elapse.arrive(
    tube text,
    key text,
    count bigint default 1,
    token text default null,
    queue text default 'main'
)
returns bigint language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    home elapse.inbox_queue := elapse.inbox_find_queue(arrive.queue);
    arrivals bigint := coalesce(arrive.count, 1);
    number bigint;
    part integer;
begin
    if tube is null or key is null then
        raise exception 'tube and key must not be null' using errcode = 'invalid_parameter_value';
    end if;
    perform elapse.inbox_check_level(home.queue, 'arrivals'), elapse.inbox_count('count', arrivals);
    if token is not null then
        perform elapse.inbox_text('a token', token, 250);
    end if;
    part := elapse.inbox_part(home.parts, home.hash_tags, elapse.inbox_text('a tube', tube, 200),
                              elapse.inbox_text('a key', key, 250), null, 0);
    number := nextval('elapse.inbox_id');
    insert into elapse.inbox (queue, part, id, what, tube, key, token, await)
    values (home.queue, part, number, 'arrive', tube, key, token, arrivals);
    perform elapse.inbox_tell(home.queue, part);
    return number;
end
$$;

create or replace function elapse.cancel(tube text, key text, queue text default 'main')
returns bigint language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    home elapse.inbox_queue := elapse.inbox_find_queue(cancel.queue);
    number bigint;
    part integer;
begin
    if tube is null or key is null then
        raise exception 'tube and key must not be null' using errcode = 'invalid_parameter_value';
    end if;
    part := elapse.inbox_part(home.parts, home.hash_tags, elapse.inbox_text('a tube', tube, 200),
                              elapse.inbox_text('a key', key, 250), null, 0);
    number := nextval('elapse.inbox_id');
    insert into elapse.inbox (queue, part, id, what, tube, key)
    values (home.queue, part, number, 'cancel', tube, key);
    perform elapse.inbox_tell(home.queue, part);
    return number;
end
$$;

create or replace function elapse.reschedule(
    tube text,
    key text,
    delay interval default null,
    at timestamptz default null,
    queue text default 'main'
)
returns bigint language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    home elapse.inbox_queue := elapse.inbox_find_queue(reschedule.queue);
    number bigint;
    part integer;
begin
    if tube is null or key is null then
        raise exception 'tube and key must not be null' using errcode = 'invalid_parameter_value';
    end if;
    if num_nonnulls(delay, at) <> 1 then
        raise exception 'reschedule needs delay or at' using errcode = 'invalid_parameter_value';
    end if;
    part := elapse.inbox_part(home.parts, home.hash_tags, elapse.inbox_text('a tube', tube, 200),
                              elapse.inbox_text('a key', key, 250), null, 0);
    number := nextval('elapse.inbox_id');
    insert into elapse.inbox (queue, part, id, what, tube, key, due, due_ms)
    values (home.queue, part, number, 'reschedule', tube, key,
            case when at is null then 'in' else 'at' end,
            case when at is null then elapse.inbox_ms('delay', delay, 0)
                 else elapse.inbox_at_ms(at) end);
    perform elapse.inbox_tell(home.queue, part);
    return number;
end
$$;

-- ---- what nodes call ----

-- Enters a queue, or changes the longest body. The number of partitions and the hash tags never change.
create or replace function elapse.inbox_open(name text, parts integer, body_bytes_max integer,
                                             hash_tags boolean default false)
returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    present elapse.inbox_queue;
begin
    insert into elapse.inbox_queue as q (queue, parts, body_bytes_max, hash_tags)
    values (name, inbox_open.parts, inbox_open.body_bytes_max, inbox_open.hash_tags)
    on conflict (queue) do update set body_bytes_max = excluded.body_bytes_max
    returning q.* into present;
    if present.parts <> parts then
        raise exception 'the queue % has % partitions, not %', quote_literal(name), present.parts,
            parts
            using errcode = 'invalid_parameter_value';
    end if;
    if present.hash_tags <> hash_tags then
        raise exception 'the queue % was entered % hash tags', quote_literal(name),
            case when present.hash_tags then 'with' else 'without' end
            using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- Returns the oldest rows of a partition. With `relief` only those that make neither a new job nor a
-- token, and of a key only if no older row has it: for a queue that takes no jobs or tokens now.
create or replace function elapse.inbox_oldest(
    queue_name text,
    part_number integer,
    rows_max integer,
    relief boolean
)
returns setof elapse.inbox language plpgsql stable
as $$
begin
    if not relief then
        return query
        select i.* from elapse.inbox i
        where i.queue = queue_name and i.part = part_number
        order by i.id limit rows_max;
        return;
    end if;
    return query
    select i.* from (
        select n.id from (
            select e.id, e.what, e.what = 'arrive' and e.token is not null as makes_token,
                row_number() over (partition by e.tube, e.key order by e.id) as place
            from elapse.inbox e
            where e.queue = queue_name and e.part = part_number
        ) n where not n.makes_token and n.what <> 'put' and n.place = 1 order by n.id limit rows_max
    ) firsts
    cross join lateral ( -- one by one, whatever the planner takes the table for
        select r.* from elapse.inbox r
        where r.queue = queue_name and r.part = part_number and r.id = firsts.id
        offset 0
    ) i;
end
$$;

-- Returns rows of a partition, the oldest numbers first: at most `rows_max`, and no more once their
-- bodies have `bytes_max` bytes. It locks no row.
--
-- While rows come, the session holds an advisory lock, which says that its owner polls (elapse.inbox_tell).
-- It gives the lock up when no row has come for a second.
--
-- The delay of a row began when the function was called, and counts by one clock alone, that of
-- this server: `age_ms` is how much of it has passed.
--
-- Headers stand before the body, behind their length in four bytes, the greatest first, and `what` says
-- so: the function has had these columns since version 1, and nodes of then refuse the word. With `await`
-- its eight bytes come first, and then the length of the headers, also if there are none. An arrival has
-- its count in `due_ms`.
--
-- Statistics of a table that is empty most of the time make no good plans, so there is no choice.
create or replace function elapse.inbox_rows(
    queue_name text,
    part_number integer,
    rows_max integer,
    bytes_max bigint,
    relief boolean default false
)
returns table (
    id bigint, age_ms bigint, what text, tube bytea, key bytea, tag bytea, token bytea, body bytea,
    due text, due_ms bigint, cron bytea, zone bytea, ifkey text, max_ms bigint, priority bigint,
    ttr_ms bigint, expire_ms bigint, retry bigint, backoff_min_ms bigint, backoff_max_ms bigint
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    present timestamptz := clock_timestamp();
    present_s numeric := extract(epoch from present); -- as text it looks the same in each session
    awake_since_s numeric := nullif(current_setting('elapse.inbox_awake_since_s', true), '');
    is_awake boolean := awake_since_s is not null;
begin
    return query
    with counted as (
        select o.*, coalesce(sum(octet_length(o.body)) over (
            order by o.id rows between unbounded preceding and 1 preceding), 0) as bytes_before
        from elapse.inbox_oldest(queue_name, part_number, rows_max, relief) o
    )
    select c.id,
        greatest(floor(extract(epoch from present - c.made) * 1000), 0)::bigint,
        case when c.what <> 'put' then c.what
            when c.await is not null then 'put+await'
            when c.headers is not null then 'put+headers'
            else c.what end,
        convert_to(c.tube, 'UTF8'), convert_to(c.key, 'UTF8'), convert_to(c.tag, 'UTF8'),
        convert_to(c.token, 'UTF8'),
        case when c.what = 'put' and c.await is not null then
                int8send(c.await) || int4send(coalesce(octet_length(c.headers), 0))
                    || coalesce(c.headers, ''::bytea) || c.body
            when c.headers is null then c.body
            else int4send(octet_length(c.headers)) || c.headers || c.body end,
        c.due, case when c.what = 'arrive' then c.await else c.due_ms end, convert_to(c.cron, 'UTF8'),
        convert_to(c.zone, 'UTF8'), c.ifkey, c.max_ms, c.priority, c.ttr_ms, c.expire_ms, c.retry,
        c.backoff_min_ms, c.backoff_max_ms
    from counted c where c.bytes_before < bytes_max order by c.id;
    if found then
        if not is_awake and pg_try_advisory_lock(
                hashtextextended(elapse.inbox_channel(queue_name, part_number), 0)) then
            is_awake := true;
        end if;
        perform set_config('elapse.inbox_awake_since_s', case when is_awake then present_s::text else '' end,
            false);
    elsif not is_awake or abs(present_s - awake_since_s) > 1 then
        -- Also of a poll that was cancelled when it had the lock: that undoes the setting alone.
        perform pg_advisory_unlock_all();
        perform set_config('elapse.inbox_awake_since_s', '', false);
    end if;
end
$$;

-- Takes rows out of the inbox; those with a reason are kept as refused. For the statement that
-- appends to the log, so that both happen or neither. An error if a row is not there: then the
-- group was made of something that no longer is.
--
-- One by one: for `id = any (ids)` the planner, who takes the table for empty, reads all rows of the
-- partition, which took 80 ms with 20,000 rows.
create or replace function elapse.inbox_move(
    queue_name text,
    part_number integer,
    ids bigint[],
    reasons text[] default null
)
returns bigint language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
    moved bigint := 0;
begin
    for place in 1 .. cardinality(ids) loop
        if reasons[place] is not null then
            insert into elapse.inbox_refused (queue, part, id, made, what, tube, key, tag, token, body,
                due, due_ms, cron, zone, ifkey, max_ms, priority, ttr_ms, expire_ms, retry,
                backoff_min_ms, backoff_max_ms, headers, await, reason)
            select i.queue, i.part, i.id, i.made, i.what, i.tube, i.key, i.tag, i.token, i.body,
                i.due, i.due_ms, i.cron, i.zone, i.ifkey, i.max_ms, i.priority, i.ttr_ms, i.expire_ms,
                i.retry, i.backoff_min_ms, i.backoff_max_ms, i.headers, i.await, reasons[place]
            from elapse.inbox i
            where i.queue = queue_name and i.part = part_number and i.id = ids[place];
        end if;
        delete from elapse.inbox i
        where i.queue = queue_name and i.part = part_number and i.id = ids[place];
        if found then
            moved := moved + 1;
        end if;
    end loop;
    if moved <> cardinality(ids) then
        raise exception 'of % rows of the inbox % are there', cardinality(ids), moved
            using errcode = 'EL001';
    end if;
    return moved;
end
$$;

-- ---- rights ----

revoke all on elapse.inbox_queue, elapse.inbox, elapse.inbox_refused, elapse.inbox_id from public;

-- The schema may have functions that are not of this script.
do $$
declare
    function regprocedure;
begin
    for function in
        select oid from pg_proc
        where pronamespace = 'elapse'::regnamespace
            and (proname in ('put', 'arrive', 'cancel', 'reschedule') or starts_with(proname, 'inbox_'))
    loop
        execute format('revoke all on function %s from public', function);
    end loop;
end
$$;

do $$
declare
    name text;
begin
    foreach name in array array['elapse_caller', 'elapse_node'] loop
        if not exists (select from pg_roles where rolname = name) then
            begin
                execute format('create role %I nologin', name);
            exception
                when duplicate_object or unique_violation then
                    null; -- in another database, at the same time
                when insufficient_privilege then
                    raise warning 'the role % does not exist, and % must not create it',
                        name, current_user
                        using hint = 'Have it created, and run this script again.';
            end;
        end if;
        if exists (select from pg_roles where rolname = name) then
            execute format('grant usage on schema elapse to %I', name);
        end if;
    end loop;
    if exists (select from pg_roles where rolname = 'elapse_caller') then
        grant execute on function elapse.put(
                text, bytea, interval, timestamptz, interval, text, text, text, text, text,
                interval, bigint, interval, interval, bigint, interval, interval, text, text, text, bigint),
            elapse.put(
                text, text, interval, timestamptz, interval, text, text, text, text, text,
                interval, bigint, interval, interval, bigint, interval, interval, text, text, text, bigint),
            elapse.arrive(text, text, bigint, text, text),
            elapse.cancel(text, text, text),
            elapse.reschedule(text, text, interval, timestamptz, text)
            to elapse_caller;
    end if;
    if exists (select from pg_roles where rolname = 'elapse_node') then
        grant execute on function elapse.inbox_open(text, integer, integer, boolean),
            elapse.inbox_rows(text, integer, integer, bigint, boolean),
            elapse.inbox_move(text, integer, bigint[], text[])
            to elapse_node;
        grant select on elapse.inbox_queue, elapse.inbox, elapse.inbox_refused to elapse_node;
    end if;
end
$$;

insert into elapse.version values ('inbox', 5)
on conflict (component) do update set version = excluded.version;

commit;
