import { Migration } from '@mikro-orm/migrations';

export class Migration20261125210100_check_request_state extends Migration {
  override name = 'Migration20261125210100_check_request_state';

  override up(): void | Promise<void> {
    this.addSql(`alter table "notification" validate constraint "notification_request_state_check";`);
  }
}
