-- Open executes this text each time, as one transaction.
select pg_advisory_xact_lock(hashtext('ironstate'));

-- The last revision. Whoever writes holds the lock on its row, so that revisions become visible in their order.
create table if not exists counter (revision bigint not null);
insert into counter select 0 where not exists (select from counter);

-- A record without a value was deleted by its revision.
create table if not exists records (
	kind     text collate "C" not null,
	id       text collate "C" not null,
	keys     bytea[] not null,
	revision bigint not null,
	value    bytea,
	primary key (kind, id)
);
create index if not exists changes on records (kind, revision);

-- The ID and the keys of each record.
create table if not exists names (
	kind text collate "C" not null,
	name bytea not null,
	id   text collate "C" not null,
	primary key (kind, name)
);
create index if not exists named on names (kind, id);

-- write_record does one write as one statement: a client that hangs never holds the lock. It creates the record if
-- expected is null, and deletes it if new_value is null. The outcome is ok, notfound, conflict or duplicate.
create or replace function write_record(
	of_kind text, of_id text, expected bigint, new_keys bytea[], new_value bytea, kept bigint,
	out outcome text, out written bigint, out taken bytea
) language plpgsql as $$
declare
	stored bigint;
	new_names bytea[] := new_keys || convert_to(of_id, 'UTF8');
begin
	select c.revision + 1 into written from counter c for update;
	select r.revision into stored from records r where r.kind = of_kind and r.id = of_id and r.value is not null;
	outcome := case
		when expected is null and stored is not null then 'duplicate'
		when expected is not null and stored is null then 'notfound'
		when expected <> stored then 'conflict'
	end;
	taken := convert_to(of_id, 'UTF8');
	if outcome is not null then
		return;
	end if;
	if new_value is not null then
		select n.name into taken from names n where n.kind = of_kind and n.name = any(new_names) and n.id <> of_id limit 1;
		if found then
			outcome := 'duplicate';
			return;
		end if;
	end if;
	delete from names n where n.kind = of_kind and n.id = of_id;
	if new_value is null then
		delete from records r where r.kind = of_kind and r.value is null and r.revision < written - kept;
	else
		insert into names select distinct of_kind, n, of_id from unnest(new_names) n;
	end if;
	insert into records values (of_kind, of_id, new_keys, written, new_value) -- the keys of a deletion are empty
		on conflict (kind, id) do update set keys = excluded.keys, revision = excluded.revision, value = excluded.value;
	update counter set revision = written;
	perform pg_notify('ironstate', of_kind);
	outcome := 'ok';
end $$;
