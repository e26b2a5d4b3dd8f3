import {
  type FragmentDefinitionNode,
  type GraphQLArgument,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  getNamedType,
  Kind,
  OperationTypeNode,
  type SelectionSetNode,
} from 'graphql';
import { MAX_READ_BYTES } from '../quota/large-reads.ts';
import { findField, selectedFields } from './selected-fields.ts';

/** The long texts that a list reads, in bytes. */
export type ByteShare = {
  /** The maximum. */
  readonly bytes: number;
  /** How much of it is read without waiting for the large replies of other requests. */
  readonly inlineBytes: number;
};

/** How much the lists of an operation read without waiting, all together. */
const INLINE_BYTES = 1024 * 1024;

/**
 * Returns the share of a list, a root field: an equal part of {@link MAX_READ_BYTES}, divided by the number of times that
 * the operation selects the same field of a record under different names.
 */
export function findByteShare(info: GraphQLResolveInfo): ByteShare {
  const found = shares.get(info.fieldNodes) ?? computeShare(info);
  shares.set(info.fieldNodes, found);
  return found;
}

/** Cached shares. The key is the same array each time a compiled operation runs. */
const shares = new WeakMap<GraphQLResolveInfo['fieldNodes'], ByteShare>();

function computeShare(info: GraphQLResolveInfo): ByteShare {
  const fragments = new Map(Object.entries(info.fragments));
  const divisor = countLists(info, fragments) * countCopies(info, fragments);
  return { bytes: Math.floor(MAX_READ_BYTES / divisor), inlineBytes: Math.floor(INLINE_BYTES / divisor) };
}

const isPageSize = ({ name }: GraphQLArgument) => name === 'first';

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Counts the root fields that return a list. Those of mutations have no page size, and any of them may. */
function countLists({ operation, parentType }: GraphQLResolveInfo, fragments: Fragments): number {
  const isQuery = operation.operation === OperationTypeNode.QUERY;
  const lists = selectedFields(operation.selectionSet, fragments)
    .filter(({ node }) => !isQuery || findField(parentType, node.name.value)?.args.some(isPageSize))
    .map(({ node: { alias, name } }) => (alias ?? name).value);
  return new Set(lists).size;
}

/**
 * Returns how many times the reply contains the same field of a record, at most. The limit for the cost of documents
 * bounds the work.
 */
function countCopies({ schema, fieldNodes, returnType }: GraphQLResolveInfo, fragments: Fragments): number {
  const places = new Map<string, Set<string>>();

  function visit(type: GraphQLNamedType | undefined, { selections }: SelectionSetNode, path: string): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        const { alias, name, selectionSet } = selection;
        const place = `${path} ${(alias ?? name).value}`;
        const key = `${type?.name}.${name.value}`;
        if (selectionSet) visit(getNamedType(findField(type, name.value)?.type), selectionSet, place);
        else places.set(key, (places.get(key) ?? new Set()).add(place));
        continue;
      }
      const fragment =
        selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
      if (fragment === undefined) continue;
      const condition = fragment.typeCondition?.name.value;
      visit(condition === undefined ? type : schema.getType(condition), fragment.selectionSet, path);
    }
  }

  for (const { selectionSet } of fieldNodes) {
    if (selectionSet) visit(getNamedType(returnType), selectionSet, '');
  }
  return Math.max(1, ...[...places.values()].map(({ size }) => size));
}
