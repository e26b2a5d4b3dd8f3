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
import { MAX_PAGE_SIZE } from './page-arguments.ts';
import { findField, selectedFields } from './selected-fields.ts';

/** The long texts that a list reads, in bytes. */
export type ByteShare = {
  /** The maximum. */
  readonly bytes: number;
  /** How much of it is read without waiting for the large replies of other requests. */
  readonly inlineBytes: number;
  /** Whether the list is inside another. A page then does not contain its first record if that exceeds the share. */
  readonly isNested?: boolean;
};

/** How much the lists of an operation read without waiting, all together. */
const INLINE_BYTES = 1024 * 1024;

/**
 * Returns the share of a list: an equal part of {@link MAX_READ_BYTES}, divided by the number of times that the operation
 * selects the same field of a record under different names. A list inside another counts as often as a page of the other
 * can have records.
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

/** Counts the lists that an operation can return. The root fields of mutations have no page size, and any may be a list. */
function countLists({ schema, operation }: GraphQLResolveInfo, fragments: Fragments): number {
  if (operation.operation !== OperationTypeNode.QUERY) {
    return countNames(operation.selectionSet, fragments);
  }
  const countBelow = (
    type: GraphQLNamedType | null | undefined,
    selection: SelectionSetNode,
    copies: number,
  ): number =>
    selectedFields(selection, fragments).reduce((sum, { node, typeName }) => {
      const field = findField(typeName === undefined ? type : schema.getType(typeName), node.name.value);
      if (field === undefined || node.selectionSet === undefined) return sum;
      const isList = field.args.some(isPageSize);
      const copiesBelow = isList ? copies * MAX_PAGE_SIZE : copies;
      return (
        sum + (isList ? copies : 0) + countBelow(getNamedType(field.type), node.selectionSet, copiesBelow)
      );
    }, 0);
  return countBelow(schema.getQueryType(), operation.selectionSet, 1);
}

function countNames(selection: SelectionSetNode, fragments: Fragments): number {
  return new Set(
    selectedFields(selection, fragments).map(({ node: { alias, name } }) => (alias ?? name).value),
  ).size;
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
