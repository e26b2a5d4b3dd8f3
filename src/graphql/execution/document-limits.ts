import { BadRequestError } from '../../errors/gateway-errors.ts';

/**
 * The limits of a document. The introspection of GraphiQL and a query for everything that one screen of an app shows stay
 * below them.
 */
export const documentLimits = {
  characters: 65_536,
  nesting: 100,
  tokens: 5000,
  operations: 50,
  depth: 16,
  rootFields: 20,
  aliases: 50,
  directives: 50,
  cost: 25_000,
} as const;

/** A quantity that is limited. */
export type LimitName = keyof typeof documentLimits;

/** Returns the message for a document that exceeds a limit. */
export function limitMessage(name: LimitName, found: number): string {
  const shown = Number.isSafeInteger(found) ? found : `more than ${Number.MAX_SAFE_INTEGER}`;
  return `The document exceeds the limit for ${limitTerms[name]}: ${shown}, maximum ${documentLimits[name]}.`;
}

/** @throws {BadRequestError} if a document exceeds a limit */
export function requireWithinLimit(name: LimitName, found: number): void {
  if (found > documentLimits[name]) throw new BadRequestError(limitMessage(name, found));
}

/** The terms of the limits in messages and in docs/graphql-api.md. */
export const limitTerms: Readonly<Record<LimitName, string>> = {
  characters: 'characters',
  nesting: 'nested brackets',
  tokens: 'tokens',
  operations: 'operations',
  depth: 'levels of fields',
  rootFields: 'root fields in an operation',
  aliases: 'aliases',
  directives: 'directives',
  cost: 'cost',
};

/** A string (whose end may be missing), a comment, or a bracket. */
const NESTING_TOKEN = /"""(?:\\"""|[\s\S])*?(?:"""|$)|"(?:\\.|[^"\\\n\r])*"?|#[^\n\r]*|[{[(]|[}\])]/g;

/** Returns how deep the brackets of a document are nested, without the parser, whose stack could overflow. */
export function measureNesting(text: string): number {
  let depth = 0;
  let maxDepth = 0;
  for (const [token] of text.matchAll(NESTING_TOKEN)) {
    if ('{[('.includes(token)) depth += 1;
    else if ('}])'.includes(token)) depth -= 1;
    maxDepth = Math.max(maxDepth, depth);
  }
  return maxDepth;
}
