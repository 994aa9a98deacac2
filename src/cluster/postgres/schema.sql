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

-- A version number is raised by each change that an older program could not live with, or that a
-- newer one needs. Version 2 has the clocks. Version 3: the level of a queue may be above 0, and no
-- program of 0.2 may come back. elapse cluster upgrade raises 2 to 3; a new database begins with 3.
do $$
declare
    present integer := (select version from elapse.version where component = 'cluster');
begin
    if present > 3 then
        raise exception 'the schema elapse has version %, and this program knows 3', present;
    end if;
end
$$;

insert into elapse.version as present values ('cluster', 3)
    on conflict (component) do update set version = 2 where present.version < 2;

create table if not exists elapse.queue (
    name text primary key check (name ~ '^[a-z][a-z0-9_]{0,31}$'),
    parts integer not null check (parts between 1 and 1024),
    lease_ms integer not null check (lease_ms >= 20),
    identity bytea not null check (octet_length(identity) = 16));

-- Which records the log of the queue may have: 0: those that programs of 0.2 read. A table that has
-- the column is left alone, because to alter it waits for all who read it. While it waits, all who come
-- later wait behind it, nodes among them. So it gives up after a while, and nothing is changed.
do $$
begin
    perform set_config('lock_timeout', '5s', true);
    if not exists (select from pg_attribute
            where attrelid = 'elapse.queue'::regclass and attname = 'level') then
        alter table elapse.queue add level integer not null default 0 check (level >= 0);
    end if;
    -- Whether braces in the name of a tube choose its partition. It is as it was when the queue was
    -- made, because the jobs lie where the rule has put them. Level 2 keeps nodes out that do not
    -- know the column.
    if not exists (select from pg_attribute
            where attrelid = 'elapse.queue'::regclass and attname = 'hash_tags') then
        alter table elapse.queue add hash_tags boolean not null default false
            check (level > 1 or not hash_tags);
    end if;
    -- Whether an operator wants no planned moves of partitions.
    if not exists (select from pg_attribute
            where attrelid = 'elapse.queue'::regclass and attname = 'moves_paused') then
        alter table elapse.queue add moves_paused boolean not null default false;
    end if;
end
$$;

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

-- What each node has said of its wall clock: by how many milliseconds it was ahead of the database's,
-- and when that was, by the database's clock. A node has an address of its own.
create table if not exists elapse.clock (
    queue text not null references elapse.queue (name),
    node text not null,
    ahead_ms bigint not null,
    seen timestamptz not null,
    primary key (queue, node)) with (fillfactor = 50);

-- Stores what a node says, unless another session of it has just said so, and counts the others that
-- have said something within so many milliseconds: how many there are, how many of them are near the
-- database's clock, and how many agree with this node. The limit is ELAPSE__CLOCK_APART_MS of
-- clock.h. The clock of the database may be set back: what was said in the future is old, too.
create or replace function elapse.tell_clock(of_queue text, of_node text, of_ahead_ms bigint,
    fresh_ms bigint)
returns table (living bigint, near bigint, agreeing bigint) language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    fresh interval := fresh_ms * interval '1 ms';
begin
    perform set_config('synchronous_commit', 'off', true);
    insert into elapse.clock as known values (of_queue, of_node, of_ahead_ms, moment)
        on conflict (queue, node) do update set ahead_ms = excluded.ahead_ms, seen = excluded.seen
        where abs(known.ahead_ms - excluded.ahead_ms) > 500
            or known.seen not between moment - fresh / 4 and moment;
    delete from elapse.clock where queue = of_queue and node <> of_node
        and seen not between moment - 100 * fresh and moment + 100 * fresh;
    return query select count(*), count(*) filter (where abs(ahead_ms) <= 5000),
        count(*) filter (where abs(ahead_ms - of_ahead_ms) <= 5000)
        from elapse.clock
        where queue = of_queue and node <> of_node and seen between moment - fresh and moment;
end
$$;

-- What each node says of itself: its address and version, which partitions it could own at once, and
-- by how many milliseconds its wall clock is ahead of the database's. `beat` is when it said so, by the
-- database's clock. `draining` is what an operator says of the node.
create table if not exists elapse.node (
    queue text not null references elapse.queue (name),
    name text not null check (name <> ''),
    address text not null,
    version text not null,
    ready integer[] not null default '{}',
    ahead_ms bigint not null default 0,
    draining boolean not null default false,
    beat timestamptz not null,
    primary key (queue, name)) with (fillfactor = 50);

-- Where the node is, as its operator says, such as a data centre; '': nobody has said it.
do $$
begin
    perform set_config('lock_timeout', '5s', true);
    if not exists (select from pg_attribute
            where attrelid = 'elapse.node'::regclass and attname = 'zone') then
        alter table elapse.node add zone text not null default '';
    end if;
end
$$;

-- Where partitions should be, by the names of nodes. `preferred` is what an operator wants. `target` is
-- the node to which the owner is to hand the partition over now. A partition without a row has neither.
-- The columns are not in elapse.partition, because whoever writes them must not keep an owner waiting.
create table if not exists elapse.place (
    queue text not null references elapse.queue (name),
    part integer not null,
    preferred text not null default '',
    target text not null default '',
    primary key (queue, part));

-- Which nodes have a copy of the partition: their names, which newlines divide. Without names all nodes
-- follow, and so they do while the level of the queue is 0, since nodes of 0.2 know no lists. The owner
-- of partition 0 writes it. A list that is wrong costs memory or time, and no job.
do $$
begin
    perform set_config('lock_timeout', '5s', true);
    if not exists (select from pg_attribute
            where attrelid = 'elapse.place'::regclass and attname = 'replicas') then
        alter table elapse.place add replicas text not null default '';
    end if;
end
$$;

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
