import { expect, test } from 'vitest';
import { findUnsafeStatements, migrationRules } from '../../src/database/unsafe-statements.ts';
import { readPage, tableBelow } from '../support/documentation.ts';

const addSomething = 'Migration20270104093000_add_something';

/** Migrations with an unsafe statement, by the statements that the violated rule names. */
const rejected: Record<string, string[][]> = {
  '`create index`, `drop index`': [
    ['create index "by_title" on "notification" ("title");'],
    ['CREATE  UNIQUE\nINDEX "by_title" on "notification" ("title")'],
    ['create index concurrently "by_title" on "notification" ("title")'],
    ['drop index if exists "by_title"'],
    ['drop index concurrently "by_title"'],
    ['select 1; drop index "by_title"'],
    // Another table is created.
    ['create table "contact" ("id" text)', 'create index "by_title" on "notification" ("title")'],
  ],
  '`add check`, `add foreign key`': [
    [`alter table "notification" add constraint "named" check ("title" <> '');`],
    ['alter table notification add check (length(title) > 0)'],
    ['alter table if exists only "notification" add foreign key ("id") references "task" ("id")'],
    // Only the second constraint is not validated.
    ['alter table "delivery" add constraint "a" check (x in (1, 2)), add constraint "b" check (y) not valid'],
    [`alter table "notification" add constraint "named" check ("title" <> ' not valid')`],
  ],
  '`validate constraint` beside other changes': [
    [
      'alter table "delivery" add constraint "a" check ("x" > 0) not valid',
      'alter table "delivery" validate constraint "a"',
    ],
    ['alter table "delivery" validate constraint "a", add column "x" int null'],
  ],
  '`add unique`, `add primary key`, `add exclude`': [
    ['alter table "contact" add constraint "one" unique ("email")'],
    ['alter table "contact" add primary key ("id")'],
    ['alter table "contact" add exclude using gist ("period" with &&)'],
  ],
  '`add column` with a constraint': [
    ['alter table "contact" add column "age" int null check ("age" > 0)'],
    ['alter table "contact" add "task_id" text references "task" ("id")'],
    ['alter table "contact" add column if not exists "email" text unique'],
  ],
  '`add column … not null` without `default`': [
    ['alter table "contact" add column "age" int not null'],
    [`alter table "contact" add "name" text default '', add "age" int not null`],
  ],
  '`add column` with a function as default, `serial` or `generated`': [
    ['alter table "contact" add column "id" uuid not null default gen_random_uuid()'],
    ['alter table "contact" add "at" timestamptz not null default (clock_timestamp())'],
    ['alter table "contact" add "number" bigserial'],
    ['alter table "contact" add "number" bigint generated always as identity'],
    ['alter table "contact" add "full" text generated always as (a || b) stored'],
  ],
  '`set not null`': [
    ['alter table "contact" alter column "email" set not null'],
    [
      'alter table "contact" alter "email" set not null',
      'alter table "contact" drop constraint "contact_chat_not_null"',
    ],
  ],
  '`alter column … type`': [
    ['alter table "public"."notification" alter column "title" type text'],
    ['alter table "contact" alter column "email" type varchar(255) using ("email"::text)'],
    ['alter table "contact" alter "email" set data type text'],
  ],
  '`rename`': [
    ['alter table "contact" rename to "address"'],
    ['alter table "contact" rename column "email" to "address"'],
    ['alter table "contact" rename "email" to "address"'],
  ],
  '`drop` of anything but an index': [
    ['alter table public.notification drop column title'],
    [`alter table "notification" alter column "title" set default 'a--b', drop column "title"`],
    ['drop table "contact"'],
    ['drop trigger "t" on "contact"'],
    ['alter table "contact" drop column "age", drop constraint "contact_check"'],
    ['alter table "contact" drop if exists "age"'],
    ['alter table "contact" alter column "age" drop default'],
    // `on conflict` fails without the index of a unique constraint.
    ['alter table "contact" drop constraint "one"'],
    [
      'alter table "contact" drop constraint "one"',
      'alter table "delivery" add constraint "one" check (x) not valid',
    ],
  ],
  '`update`, `delete`, `merge`': [
    ['merge into "contact" using "given" on true when matched then delete'],
    ['delete from "public"."contact"'],
    [`update "contact" set "email" = ''`],
    [`-- the limit\nupdate "contact" set "email" = null /* limit */ where "email" = 'limit'`],
    ['delete from "contact" where "email" is null'],
    ['with gone as (delete from "contact" returning *) insert into "old" select * from gone'],
  ],
  '`truncate`, `lock table`, `cluster`, `vacuum full`, `reindex`': [
    ['truncate "delivery"'],
    ['lock table "delivery" in share mode'],
    ['cluster "delivery"'],
    ['vacuum full "delivery"'],
    ['vacuum (analyze, full) "delivery"'],
    ['reindex table "delivery"'],
  ],
};

test.for(
  Object.entries(rejected).flatMap(([rule, migrations]) =>
    migrations.map((statements) => [rule, statements] as const),
  ),
)('%s: rejects %j', ([rule, statements]) => {
  expect(findUnsafeStatements(statements, addSomething).map((unsafe) => unsafe.rule.statements)).toEqual([
    rule,
  ]);
});

test('every rule has rejected statements', () => {
  expect(migrationRules.map(({ statements }) => statements)).toEqual(Object.keys(rejected));
});

const accepted = [
  ['create table "contact" ("id" text not null, primary key ("id"))'],
  ['alter table "contact" add column "age" int null'],
  [`alter table "contact" add column "age" int not null default 0, add "name" text not null default 'a(b'`],
  [`alter table "contact" add "kind" varchar(10) not null default 'x'::varchar(10)`],
  ['alter table "contact" add column "at" timestamptz(3) not null default now()'],
  ['alter table "contact" add "at" timestamptz(3) not null default current_timestamp(3)'],
  ['alter table "contact" drop constraint "contact_check"'],
  [
    'alter table "contact" drop constraint "a"',
    'alter table "contact" add constraint "a" check ("x" in (1, 2, 3)) not valid',
  ],
  ['alter table "contact" alter column "type" drop not null'],
  ['alter table "contact" alter column "type" set default 1'],
  ['alter table "contact" add constraint "a" check ("x" in (1, 2)) not valid'],
  ['alter table "contact" add constraint "a" foreign key ("x") references "y" ("x") not valid;'],
  ['alter table "contact" validate constraint "a"'],
  ['alter table "contact" add column "a" int null', 'alter table "delivery" validate constraint "a"'],
  ['alter table "contact" add constraint "a" unique using index "a"'],
  [
    'alter table "contact" alter column "email" set not null',
    'alter table "contact" drop constraint "contact_email_not_null"',
  ],
  ['update "contact" set "x" = 1 where "id" in (select "id" from "contact" where "x" is null limit 1000)'],
  [`insert into "contact" ("id") values ('update') on conflict ("id") do update set "x" = 1`],
  [
    `create function "f"() returns trigger as $$ begin delete from "contact"; return null; end $$ language plpgsql`,
  ],
  ['create trigger "t" after insert or update on "contact" for each row execute function "f"()'],
  ['vacuum "delivery"'],
  // Tables that the migration creates.
  [
    'create table if not exists "contact" ("id" text)',
    'create unique index "by_id" on "contact" ("id")',
    'alter table "contact" add constraint "a" check ("id" <> $$a$$), add primary key ("id")',
    'update "contact" set "id" = 1',
  ],
  [`create table "contact" ("id" text); insert into "contact" values ('a;b'); truncate "contact"`],
];

test.for(accepted.map((statements) => [statements] as const))('accepts %j', ([statements]) => {
  expect(findUnsafeStatements(statements, addSomething)).toEqual([]);
});

test('a migration whose name requires a version may drop columns, but not block requests', () => {
  const statements = ['alter table "contact" drop column "age"', 'truncate "delivery"'];
  const find = (name: string) => findUnsafeStatements(statements, name).map(({ statement }) => statement);
  expect(find('Migration20270104093000_requires_0_4_0_drop_age')).toEqual(statements.slice(1));
  expect(find('Migration20270104093000_requires_nothing')).toEqual(statements);
});

test('the documentation lists the rules', () => {
  const plain = (text: string) => text.replaceAll('`', '');
  const rows = migrationRules.map(({ statements, reason, instead }) =>
    [statements, reason, instead].map(plain),
  );
  expect(tableBelow(readPage('docs/adding-an-operation.md'), 'Changing existing tables')).toEqual(rows);
});
