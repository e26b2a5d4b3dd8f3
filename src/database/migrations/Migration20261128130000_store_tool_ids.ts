import { Migration } from '@mikro-orm/migrations';

/** Stores the tool ID of plans and questions in a column, by which the platform resolves them. */
export class Migration20261128130000_store_tool_ids extends Migration {
  override name = 'Migration20261128130000_store_tool_ids';

  override up(): void {
    this.addSql('alter table notification add column tool_id text;');
    this.addSql(`update notification set tool_id = payload ->> 'toolId'
      where kind in ('plan_requested', 'question_requested');`);
  }
}
