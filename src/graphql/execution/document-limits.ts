import {
  type ASTVisitor,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  getNamedType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';
import type { Context } from '../../context.ts';
import { DEFAULT_PAGE, LARGEST_PAGE } from '../connection.ts';

/** Limits of one document. GraphiQL's introspection and a whole screen are far below them. */
export const documentLimits = {
  characters: 65_536,
  nesting: 100,
  tokens: 5000,
  depth: 16,
  rootFields: 20,
  aliases: 50,
  directives: 50,
  cost: 25_000,
} as const;

type Limited = keyof typeof documentLimits;

/** The message for a document that is over a limit. */
export function overLimit(name: Limited, found: number): string {
  const shown = Number.isSafeInteger(found) ? found : 'beyond counting';
  const word = name === 'rootFields' ? 'root fields' : name;
  return `The document is too costly: ${word} ${shown}, at most ${documentLimits[name]} allowed.`;
}

/** A string (whose end may be missing), a comment, or a bracket. */
const NESTING = /"""(?:\\"""|[\s\S])*?(?:"""|$)|"(?:\\.|[^"\\\n\r])*"?|#[^\n\r]*|[{[(]|[}\])]/g;

/** How deep the brackets of a document are nested, found without parsing it: the parser's stack is limited. */
export function nestingOf(text: string): number {
  let level = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(NESTING)) {
    if ('{[('.includes(token)) level += 1;
    else if ('}])'.includes(token)) level -= 1;
    deepest = Math.max(deepest, level);
  }
  return deepest;
}

/** What a selection asks for with its fragments spread out. */
type Measure = { readonly [Name in (typeof measures)[number]]: number };

const measures = ['depth', 'rootFields', 'aliases', 'directives', 'cost'] as const;

const nothing: Measure = { depth: 0, rootFields: 0, aliases: 0, directives: 0, cost: 0 };

/** A list without page sizes is taken to have this many items. */
const PLAIN_LIST = 4;

/**
 * A validation rule that refuses costly documents before anything runs. A field costs 1, times the lists that it
 * lies in; a page size that comes in a variable counts as the largest. Each fragment is measured once, so that
 * measuring stays linear where spreading would not.
 */
export function limitDocument(context: ValidationContext): ASTVisitor {
  const schema = context.getSchema();
  const measured = new Map<string, Measure>();

  return {
    OperationDefinition(operation) {
      const root = schema.getRootType(operation.operation);
      const { directives, ...found } = measureSet(operation.selectionSet, root?.getFields() ?? noFields);
      report({ ...found, directives: directives + (operation.directives?.length ?? 0) });

      function report(measure: Measure): void {
        for (const name of measures) {
          if (measure[name] > documentLimits[name]) {
            context.reportError(new GraphQLError(overLimit(name, measure[name]), { nodes: operation }));
          }
        }
      }
    },
  };

  function measureSet({ selections }: SelectionSetNode, fields: Fields): Measure {
    return selections.map((selection) => measureOne(selection, fields)).reduce(add, nothing);
  }

  function measureOne(selection: SelectionNode, fields: Fields): Measure {
    const directives = selection.directives?.length ?? 0;
    const inside =
      selection.kind === Kind.FIELD
        ? measureField(selection, fields)
        : selection.kind === Kind.INLINE_FRAGMENT
          ? measureSet(selection.selectionSet, fieldsOf(selection.typeCondition?.name.value) ?? fields)
          : measureFragment(selection.name.value);
    return { ...inside, directives: inside.directives + directives };
  }

  function measureField(node: FieldNode, fields: Fields): Measure {
    const field = fields[node.name.value];
    const inside = node.selectionSet
      ? measureSet(node.selectionSet, fieldsOf(field && getNamedType(field.type).name) ?? noFields)
      : nothing;
    return {
      depth: inside.depth + 1,
      rootFields: 1,
      aliases: inside.aliases + (node.alias ? 1 : 0),
      directives: inside.directives,
      cost: 1 + inside.cost * itemsOf(node, field),
    };
  }

  function measureFragment(name: string): Measure {
    const known = measured.get(name);
    if (known !== undefined) return known;
    // Stands in while the fragment is measured; a circle is another rule's to report.
    measured.set(name, nothing);
    const fragment = context.getFragment(name);
    const measure = fragment
      ? measureSet(fragment.selectionSet, fieldsOf(fragment.typeCondition.name.value) ?? noFields)
      : nothing;
    measured.set(name, measure);
    return measure;
  }

  function fieldsOf(typeName: string | undefined): Fields | undefined {
    const type = typeName === undefined ? undefined : schema.getType(typeName);
    return isObjectType(type) || isInterfaceType(type) ? type.getFields() : undefined;
  }
}

type Fields = Readonly<Record<string, GraphQLField<unknown, Context>>>;

/** Without a prototype, whose members a document could name. */
const noFields: Fields = Object.create(null);

function add(a: Measure, b: Measure): Measure {
  return {
    depth: Math.max(a.depth, b.depth),
    rootFields: a.rootFields + b.rootFields,
    aliases: a.aliases + b.aliases,
    directives: a.directives + b.directives,
    cost: a.cost + b.cost,
  };
}

/** How many items a field may answer. The records of a connection are counted where the page is asked for. */
function itemsOf(node: FieldNode, field: GraphQLField<unknown, Context> | undefined): number {
  if (field?.args.some(({ name }) => name === 'first')) return pageSizeOf(node);
  if (field?.name === 'nodes' || field?.name === 'edges') return 1;
  const type = field && (isNonNullType(field.type) ? field.type.ofType : field.type);
  return isListType(type) ? PLAIN_LIST : 1;
}

/** Sizes out of range are refused where they are used; here they must neither outweigh nor offset the rest. */
function pageSizeOf(node: FieldNode): number {
  const given = node.arguments?.filter(({ name }) => name.value === 'first' || name.value === 'last') ?? [];
  const sizes = given.map(({ value }) =>
    value.kind === Kind.INT ? Math.min(Math.max(Number(value.value), 1), LARGEST_PAGE) : LARGEST_PAGE,
  );
  return sizes.length === 0 ? DEFAULT_PAGE : Math.max(...sizes);
}
