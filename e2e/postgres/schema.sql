-- Open executes this text each time, as one transaction.
select pg_advisory_xact_lock(hashtext('ironstate'));

-- The last revision. Whoever writes holds the lock on its row, so that revisions become visible in their order.
create table if not exists counter (revision bigint not null);
insert into counter select 0 where not exists (select from counter);

-- A record without a value was deleted by its revision. The columns are the fields of conductor.Record, in their order.
create table if not exists records (
	kind     text collate "C" not null,
	id       text collate "C" not null,
	keys     json,
	revision bigint not null,
	value    bytea,
	primary key (kind, id)
);
create index if not exists changes on records (kind, revision);

-- The ID and the keys of each record, as JSON strings: a text of PostgreSQL has no character 0.
create table if not exists names (
	kind text collate "C" not null,
	name text collate "C" not null,
	id   text collate "C" not null,
	primary key (kind, name)
);
create index if not exists named on names (kind, id);

-- write_record does one write as one statement: a client that hangs never holds the lock. It creates the record if
-- expected, the revision that the record must have, is null, and deletes it if new_value is null. The first of new_names
-- is the ID, the others are the keys. The outcome is ok with the new revision in written, notfound, conflict, or
-- duplicate with the index of the name that another record has in taken. A deletion forgets deletions of the same kind
-- that are more than kept revisions older: a watch that is as far behind has ended.
create or replace function write_record(
	of_kind text, of_id text, expected bigint, new_keys json, new_names json, new_value bytea, kept bigint,
	out outcome text, out written bigint, out taken bigint
) language plpgsql as $$
declare
	stored bigint;
begin
	select c.revision + 1 into written from counter c for update;
	select r.revision into stored from records r where r.kind = of_kind and r.id = of_id and r.value is not null;
	select min(k.place) - 1 into taken from json_array_elements(new_names) with ordinality k(name, place)
		join names n on n.kind = of_kind and n.name = k.name::text and (expected is null or n.id <> of_id);
	outcome := case
		when expected is not null and stored is null then 'notfound'
		when expected <> stored then 'conflict'
		when taken is not null then 'duplicate'
		else 'ok'
	end;
	if outcome <> 'ok' then
		return;
	end if;
	delete from names n where n.kind = of_kind and n.id = of_id;
	if new_value is null then
		delete from records r where r.kind = of_kind and r.value is null and r.revision < written - kept;
	else
		insert into names select distinct of_kind, k.name::text, of_id from json_array_elements(new_names) k(name);
	end if;
	insert into records values (of_kind, of_id, new_keys, written, new_value) -- a deletion has no keys
		on conflict (kind, id) do update set keys = excluded.keys, revision = excluded.revision, value = excluded.value;
	update counter set revision = written;
	perform pg_notify('ironstate ' || of_kind, '');
end $$;
