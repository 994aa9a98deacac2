-- The tables of clusters, in the schema elapse. `elapse cluster create` runs this; it can be run
-- again and again, and makes the missing ones. The role that runs it owns all of it, and the nodes
-- connect as that role, because they make and drop tables of the log.

-- Two at once: the second one waits.
do $$ begin perform pg_advisory_xact_lock(hashtext('elapse schema')); end $$;

create schema if not exists elapse;

create table if not exists elapse.version (component text primary key, version integer not null);

-- A version number is raised by each change that an older program could not live with.
do $$
declare
    present integer := (select version from elapse.version where component = 'cluster');
begin
    if present > 1 then
        raise exception 'the schema elapse has version %, and this program knows 1', present;
    end if;
end
$$;

insert into elapse.version values ('cluster', 1) on conflict (component) do nothing;

create table if not exists elapse.queue (
    name text primary key check (name ~ '^[a-z][a-z0-9_]{0,31}$'),
    parts integer not null check (parts between 1 and 1024),
    lease_ms integer not null check (lease_ms >= 20),
    identity bytea not null check (octet_length(identity) = 16));

-- The row of a partition is written with every group. Most of its page is kept free, so that new
-- versions of the row stay in the page, and no index is touched.
create table if not exists elapse.partition (
    queue text not null references elapse.queue (name),
    part integer not null,
    epoch bigint not null default 0 check (epoch >= 0),
    owner text not null default '',
    address text not null default '',
    beat bigint not null default 0,
    last_group bigint not null default 0 check (last_group >= 0),
    last_hash bigint not null,
    tail bigint not null default 1 check (tail > 0),
    lease_ms integer not null,
    primary key (queue, part)) with (fillfactor = 10);

-- Makes a table of the log unless it exists. Bytes lie outside of the rows, as they are. Rows are
-- never changed or deleted, so nothing is to be vacuumed.
create or replace function elapse.make_log_table(queue text, part bigint, number bigint)
returns void language plpgsql as $$
declare
    table_name text := format('log_%s_%s_%s', queue, part, number);
begin
    execute format('create table if not exists elapse.%I (group_number bigint primary key,'
        ' epoch bigint not null, hash_of_previous bigint not null, bytes bytea not null)'
        ' with (autovacuum_enabled = off, toast.autovacuum_enabled = off)', table_name);
    execute format('alter table elapse.%I alter column bytes set storage external', table_name);
end
$$;

-- Drops tables of the log with lower numbers, the lowest first, `at_most` of them. Returns how
-- many. It does not wait for a session that reads one.
create or replace function elapse.drop_log_tables(queue text, part bigint, below bigint,
    at_most bigint)
returns bigint language plpgsql set lock_timeout = '50ms' as $$
declare
    prefix text := format('log_%s_%s_', queue, part);
    number numeric;
    dropped bigint := 0;
begin
    for number in
        select substr(relname, length(prefix) + 1)::numeric as found
        from pg_catalog.pg_class
        where relnamespace = 'elapse'::regnamespace and relkind = 'r'
            and starts_with(relname, prefix) and substr(relname, length(prefix) + 1) ~ '^[0-9]+$'
            and substr(relname, length(prefix) + 1)::numeric < below
        order by found limit at_most
    loop
        execute format('drop table elapse.%I', prefix || number);
        dropped := dropped + 1;
    end loop;
    return dropped;
end
$$;
