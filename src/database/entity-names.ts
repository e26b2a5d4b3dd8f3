import type { EntityMetadata, MetadataStorage } from '@mikro-orm/postgresql';
import {
  AliasNode,
  ColumnNode,
  IdentifierNode,
  type KyselyPlugin,
  type OperationNode,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  ReferenceNode,
  type ReturningNode,
  type RootOperationNode,
  SchemableIdentifierNode,
  SelectAllNode,
  SelectionNode,
  TableNode,
  type UnknownRow,
} from 'kysely';
import { Secret } from '../values/secret.ts';
import { SecretType } from './columns.ts';

/**
 * Lets statements use the names of entities and properties: `Notification` and `createdAt` become `notification` and
 * `created_at`, also in `sql.table` and `sql.ref`. The statement returns its columns under the names of the properties:
 * `select "created_at" as "createdAt"`. MikroORM's plugin would rename and convert every row in JavaScript instead,
 * which takes longer than the query.
 */
export class EntityNames implements KyselyPlugin {
  readonly #tables = new Map<string, string>();
  /** The properties of each table, in the order of the entity. */
  readonly #properties = new Map<string, readonly string[]>();
  readonly #secrets: string[] = [];
  readonly #columns = new Map<string, string>();
  readonly #translator = new NameTranslator(this.#tables, this.#columns);

  constructor(entities: Iterable<EntityMetadata>) {
    for (const { className, tableName, props } of entities) {
      this.#tables.set(className, tableName);
      const names = props.map(({ name }) => name);
      this.#properties.set(className, names).set(tableName, names);
      for (const { name, fieldNames, customType } of props) {
        const [column = name] = fieldNames;
        const other = this.#columns.get(name) ?? column;
        if (other !== column)
          throw new Error(`The property ${name} has two columns: ${other} and ${column}.`);
        this.#columns.set(name, column);
        if (customType instanceof SecretType) this.#secrets.push(name);
      }
    }
  }

  /** Returns the properties of an entity, given its name or its table. */
  propertiesOf(entity: string): readonly string[] {
    const names = this.#properties.get(entity);
    if (names === undefined) throw new Error(`No entity has the name or the table "${entity}".`);
    return names;
  }

  /** Returns the column of a property, for data that PostgreSQL converts to rows. */
  columnOf(property: string): string {
    return this.#columns.get(property) ?? property;
  }

  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    return this.#translator.transformNode(this.#aliasResult(node), queryId);
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

  /** Adds the property's name to each column that the whole statement returns. */
  #aliasResult(node: RootOperationNode): RootOperationNode {
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
      return [alias(selection, selection.column.column.name)];
    });
  }

  #expand(table: OperationNode | undefined): SelectionNode[] {
    if (table === undefined || !TableNode.is(table))
      throw new Error('`selectAll` needs a table, not a subquery.');
    return this.propertiesOf(table.table.identifier.name).map((property) =>
      alias(ReferenceNode.create(ColumnNode.create(property), table), property),
    );
  }
}

const namesByMetadata = new WeakMap<MetadataStorage, EntityNames>();

/** Returns the names of a database's entities. All managers of a database share them. */
export function getEntityNames(metadata: MetadataStorage): EntityNames {
  const names = namesByMetadata.get(metadata) ?? new EntityNames(metadata.getAll().values());
  namesByMetadata.set(metadata, names);
  return names;
}

function alias(node: ReferenceNode, property: string): SelectionNode {
  return SelectionNode.create(AliasNode.create(node, IdentifierNode.create(property)));
}

/** Replaces the names of entities and properties, except where they name a result of the whole statement. */
class NameTranslator extends OperationNodeTransformer {
  readonly #tables: ReadonlyMap<string, string>;
  readonly #columns: ReadonlyMap<string, string>;

  constructor(tables: ReadonlyMap<string, string>, columns: ReadonlyMap<string, string>) {
    super();
    this.#tables = tables;
    this.#columns = columns;
  }

  protected override transformIdentifier(node: IdentifierNode): IdentifierNode {
    const name = this.#translate(node.name);
    return name === node.name ? node : { ...node, name };
  }

  #translate(name: string): string {
    const parent = this.nodeStack.at(-2);
    if (parent === undefined) return name;
    if (SchemableIdentifierNode.is(parent)) return this.#tables.get(name) ?? name;
    const isColumn = ColumnNode.is(parent) || (AliasNode.is(parent) && !this.#isResult());
    return (isColumn ? this.#columns.get(name) : undefined) ?? name;
  }

  /** Whether the current alias names a result: it is in the root's `select` or `returning`. */
  #isResult(): boolean {
    const position = this.nodeStack.findIndex((node) => SelectionNode.is(node));
    return position === 1 || (position === 2 && this.nodeStack[1]?.kind === 'ReturningNode');
  }
}
