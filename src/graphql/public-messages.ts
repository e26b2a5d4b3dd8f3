import type { GraphQLError } from 'graphql';

/** Names in messages are cut to so many characters: a document can hold a name of any length. */
const MAX_NAME_CHARACTERS = 100;

const UNKNOWN = 'The request is not valid GraphQL.';

/** In a form, `$` stands for a name or a type, which is all that a message may repeat of a document. */
const NAME = '[\\w@$!:.[\\]()]+';

/**
 * The messages of graphql-js and Yoga that callers may read, up to the end of the form. Others print values: for
 * literals that do not fit, only the type is passed on.
 */
const FORMS = [
  '(Anonymous Subscription|Subscription "$") must (not select an introspection|select only one) top level field',
  'Argument "$" can only be defined once',
  'Cannot query field "$" on type "$"',
  'Cannot spread fragment "$" within itself',
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
  'Must provide query string',
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
].map((form) => new RegExp(`^${form.replaceAll('.', '\\.').replaceAll('$', NAME)}(?!\\w)`));

/** The name of an unknown input field is not repeated: it may be a credential in the wrong place. */
const UNKNOWN_FIELD = /^Field "\w+" is not defined by type "(\w+)"/;
const SUGGESTION = /Did you mean (?:to use an inline fragment on )?(?:"\w+"(?:, | or |, or )?)+\?$/;
const UNFIT =
  /^(?:Enum "(\w+)"|(\w+)) cannot represent|^Expected value of type "([\w[\]!]+)"|^Value "\w+" does not exist in "(\w+)" enum/;

/**
 * The message of an error that graphql-js or Yoga made before an operation ran, without anything that it repeats of the
 * request except names.
 */
export function toPublicMessage({ message }: Pick<GraphQLError, 'message'>): string {
  const type = UNFIT.exec(message)?.slice(1).find(Boolean);
  if (type !== undefined) return `Expected a value of type "${type}".`;
  const [suggestion = ''] = SUGGESTION.exec(message) ?? [];
  const [, input] = UNKNOWN_FIELD.exec(message) ?? [];
  if (input !== undefined) return `The input type "${input}" has no such field. ${suggestion}`.trimEnd();
  const [known] = FORMS.flatMap((form) => form.exec(message) ?? []);
  if (known === undefined) return UNKNOWN;
  return `${known}.${suggestion && ` ${suggestion}`}`.replaceAll(/\w+/g, (name) =>
    name.slice(0, MAX_NAME_CHARACTERS),
  );
}
