import { type EntityManager, MikroKyselyPlugin, type MikroKyselyPluginOptions } from '@mikro-orm/postgresql';
import {
  AliasNode,
  ColumnNode,
  IdentifierNode,
  type KyselyPlugin,
  type OperationNode,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  ReferenceNode,
  type ReturningNode,
  type RootOperationNode,
  SelectAllNode,
  SelectionNode,
  TableNode,
  type UnknownRow,
} from 'kysely';
import { Secret } from '../values/secret.ts';
import { SecretType } from './secret-type.ts';

/**
 * Translates entities and properties in queries to tables and columns, and adds the property names as aliases:
 * `select "created_at" as "createdAt"`. MikroORM's plugin alone would rename and convert every row in JavaScript, which
 * takes longer than the query.
 */
export class NamedColumns implements KyselyPlugin {
  readonly #names: MikroKyselyPlugin;
  /** Columns and properties by table. */
  readonly #columns = new Map<string, [column: string, property: string][]>();
  readonly #properties = new Map<string, string>();
  readonly #secrets: string[] = [];

  constructor(em: EntityManager, options: MikroKyselyPluginOptions) {
    this.#names = new MikroKyselyPlugin(em, options);
    for (const { tableName, props } of em.getMetadata().getAll().values()) {
      const columns = props.flatMap(({ name, fieldNames }) =>
        fieldNames.map((column): [string, string] => [column, name]),
      );
      this.#columns.set(tableName, columns);
      for (const [column, property] of columns) this.#properties.set(column, property);
      for (const { name, customType } of props)
        if (customType instanceof SecretType) this.#secrets.push(name);
    }
  }

  transformQuery(args: PluginTransformQueryArgs): RootOperationNode {
    const node = this.#names.transformQuery(args);
    switch (node.kind) {
      case 'SelectQueryNode':
        return node.selections === undefined
          ? node
          : { ...node, selections: this.#aliasAll(node.selections, node.from?.froms[0]) };
      case 'InsertQueryNode':
        return { ...node, ...this.#aliasReturning(node.returning, node.into) };
      case 'UpdateQueryNode':
        return { ...node, ...this.#aliasReturning(node.returning, node.table) };
      case 'DeleteQueryNode':
        return { ...node, ...this.#aliasReturning(node.returning, node.from.froms[0]) };
      default:
        return node;
    }
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    this.hideSecrets(result.rows);
    return result;
  }

  /** Wraps the values of secret columns, in place. */
  hideSecrets(rows: readonly UnknownRow[]): void {
    const [first] = rows;
    const secrets = first === undefined ? [] : this.#secrets.filter((name) => name in first);
    for (const name of secrets) {
      for (const row of rows) {
        const text = row[name];
        if (typeof text === 'string') row[name] = new Secret(text);
      }
    }
  }

  #aliasReturning(returning: ReturningNode | undefined, table: OperationNode | undefined) {
    return (
      returning && { returning: { ...returning, selections: this.#aliasAll(returning.selections, table) } }
    );
  }

  #aliasAll(selections: readonly SelectionNode[], table: OperationNode | undefined): SelectionNode[] {
    return selections.flatMap((node) => {
      const { selection } = node;
      if (SelectAllNode.is(selection)) return this.#expand(table);
      if (!ReferenceNode.is(selection)) return [node];
      if (SelectAllNode.is(selection.column)) return this.#expand(selection.table);
      const { name } = selection.column.column;
      return [alias(selection, this.#properties.get(name) ?? name)];
    });
  }

  #expand(table: OperationNode | undefined): SelectionNode[] {
    if (table === undefined || !TableNode.is(table))
      throw new Error('`selectAll` needs a table, not a subquery.');
    const columns = this.#columns.get(table.table.identifier.name);
    if (columns === undefined) throw new Error(`No entity has the table "${table.table.identifier.name}".`);
    return columns.map(([column, property]) =>
      alias(ReferenceNode.create(ColumnNode.create(column), table), property),
    );
  }
}

function alias(node: ReferenceNode, property: string): SelectionNode {
  return SelectionNode.create(AliasNode.create(node, IdentifierNode.create(property)));
}
