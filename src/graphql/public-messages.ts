import type { GraphQLError } from 'graphql';

/** Names in messages are truncated, because a document may contain a name of any length. */
const MAX_NAME_CHARACTERS = 100;

/** What `$` stands for in a pattern: a name or a type, the only parts of a document that a message may repeat. */
const NAME = '[\\w@$!:.[\\]()]+';

/**
 * The messages of graphql-js and Yoga that callers may read, each up to the end of its pattern. Other messages may
 * contain values.
 */
const PATTERNS = [
  '(Anonymous Subscription|Subscription "$") must (not select an introspection|select only one) top level field',
  'Argument "$" can only be defined once',
  'Can only perform a mutation operation from a POST request',
  'Cannot query field "$" on type "$"',
  'Cannot spread fragment "$" within itself',
  'Could not determine what operation to execute',
  'Directive "$" may not be used on $',
  'Exactly one key must be specified for OneOf type "$"',
  '(Directive|Field) "$" argument "$" of type "$" is required, but it was not provided',
  'Field "$" must not have a selection since type "$" has no subfields',
  'Field "$" of required type "$" was not provided',
  'Field "$" of type "$" must have (a selection of subfields|at least one field selected)',
  'Fields "$" conflict',
  'Fragment ("$" )?cannot be spread here as objects of type "$" can never be of type "$"',
  'Fragment ("$" )?cannot condition on non composite type "$"',
  'Fragment "$" is never used',
  'GraphQL only supports GET and POST requests',
  'Maximum introspection depth exceeded',
  'OneOf Input Object "$" must specify exactly one key',
  'The $ definition is not executable',
  'The directive "$" can only be used once at this location',
  'There can be only one (input field|$) named "$"',
  'This anonymous operation must be the only defined operation',
  '(Too many validation errors, error limit reached. )?Validation aborted',
  'Unknown argument "$" on (directive|field) "$"',
  'Unknown (directive|fragment|type) "$"',
  'Variable "$" is (never used|not defined)( (in|by) operation "$")?',
  'Variable "$" of type "$" used in position expecting type "$"',
  'Variable "$" cannot be non-input type "$"',
].map((pattern) => new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('$', NAME)}(?!\\w)`));

/** The name of an unknown input field is omitted unless it is like a known one, because it may be a misplaced credential. */
const UNKNOWN_FIELD = /^Field "(\w+)" is not defined by type "(\w+)"/;
const SUGGESTION = /Did you mean (?:to use an inline fragment on )?(?:"\w+"(?:, | or |, or )?)+\?$/;
/** Messages about a literal of the wrong type. Only the type is repeated. */
const WRONG_TYPE =
  /^(?:Enum "(\w+)"|(\w+)) cannot represent|^Expected value of type "([\w[\]!]+)"|^Value "\w+" does not exist in "(\w+)" enum/;

/**
 * Converts the message of an error that graphql-js or Yoga reported before execution. The result repeats nothing of the
 * request except names.
 */
export function toPublicMessage({ message }: Pick<GraphQLError, 'message'>): string {
  const type = WRONG_TYPE.exec(message)?.slice(1).find(Boolean);
  if (type !== undefined) return `Expected a value of type "${type}".`;
  const [suggestion = ''] = SUGGESTION.exec(message) ?? [];
  const [, name, input] = UNKNOWN_FIELD.exec(message) ?? [];
  if (input !== undefined)
    return `The input type "${input}" has no ${suggestion ? `field "${name}". ${suggestion}` : 'such field.'}`;
  const [known] = PATTERNS.flatMap((pattern) => pattern.exec(message) ?? []);
  if (known === undefined) return 'The request is not valid GraphQL.';
  return `${known}.${suggestion && ` ${suggestion}`}`.replaceAll(/\w+/g, (name) =>
    name.slice(0, MAX_NAME_CHARACTERS),
  );
}
