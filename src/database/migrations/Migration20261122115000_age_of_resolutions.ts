import { Migration } from '@mikro-orm/migrations';

export class Migration20261122115000_age_of_resolutions extends Migration {
  override name = 'Migration20261122115000_age_of_resolutions';

  override up(): void | Promise<void> {
    this.addSql(`drop index "task_resolution_age";`);
    this.addSql(
      `alter table "task_resolution" add column "updated_at" timestamptz(3) not null default now();`,
    );
    this.addSql(`alter table "task_resolution" alter column "updated_at" drop default;`);
    this.addSql(`create index "task_resolution_age" on "task_resolution" ("updated_at");`);
  }
}
