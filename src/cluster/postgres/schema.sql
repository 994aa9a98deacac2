-- The tables of clusters, in the schema elapse. `elapse cluster create` runs this; it can be run
-- again and again, and makes the missing ones. The role that runs it owns all of it, and the nodes
-- connect as that role, because they make and drop tables of the log.

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
-- versions of the row stay in the page, and no index is touched. `stopped` says why no node may own
-- the partition: the database lost groups that were acknowledged. `missed` says the same, if a node
-- found it after others had gone on.
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
    stopped text not null default '',
    missed text not null default '',
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
        -- The case: of conditions joined by `and` any may be the first, and a cast of the others fails.
        select place from (
            select case when substr(relname, length(prefix) + 1) ~ '^(0|[1-9][0-9]*)$'
                then substr(relname, length(prefix) + 1)::numeric end as place
            from pg_catalog.pg_class
            where relnamespace = 'elapse'::regnamespace and relkind = 'r'
                and starts_with(relname, prefix)) tables
        where place < below
        order by place limit at_most
    loop
        execute format('drop table elapse.%I', prefix || number);
        dropped := dropped + 1;
    end loop;
    return dropped;
end
$$;
