import { Migration } from '@mikro-orm/migrations';

/** Statistics are counted at once, so the counts of each user and the state of sweeps are no longer needed. */
export class Migration20261128120000_requires_0_4_0_count_records extends Migration {
  override name = 'Migration20261128120000_requires_0_4_0_count_records';

  override up(): void {
    this.addSql(`drop table user_statistics;
      alter table statistics drop column sweep_started_at, drop column swept_to,
        alter column counts drop default, alter column counts drop not null;
      update statistics set counts = null, as_of = null, due_at = now();`);
  }
}
