import { describe, expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { buildDocument, isSubscription, printLiteral, rootFields } from '../support/root-fields.ts';
import { signToken } from '../support/tokens.ts';
import { argumentsWith, type InputPlace, inputPlaces, nameOf } from './input-places.ts';

/*
 * A marked string in every input of every operation, in every form that a document allows. No message and no log line
 * may repeat it; an error item may, in `value` or `location`, unless the input is or may contain a secret.
 */

const MARK = 'MARKED0123456789';

const gateway = useGateway({ LOG_LEVEL: 'trace' });
const scope = 'account:write platform:write platform:read platform:credentials';
const token = await signToken({ sub: 'alice', org_id: 'acme', scope });

/** Builds a document that calls a root field, with declarations of variables. */
function build(field: string, declared: string, bound: string): string {
  const [keyword] = buildDocument(field, {}).split(' ');
  return `${keyword} ${declared && `(${declared})`} { ${rootFields[field]?.name}(${bound}) { __typename } }`;
}

type Given = Record<string, unknown>;
type Sent = { query: string; variables?: Given };

/** The arguments of a root field that are given, with their names and types, and their values as literals. */
const findArguments = (field: string, given: Given) =>
  (rootFields[field]?.args ?? [])
    .filter(({ name }) => name in given)
    .map(({ name, type }) => ({ name, type, literal: printLiteral(type, given[name]) }));

/** The forms in which arguments can be sent. */
const argumentForms: Record<string, (field: string, given: Given) => Sent> = {
  'in variables': (field, given) => ({ query: buildDocument(field, given), variables: given }),
  'in literals': (field, given) => {
    const bound = findArguments(field, given).map(({ name, literal }) => `${name}: ${literal}`);
    return { query: build(field, '', bound.join()) };
  },
  'in default values of variables': (field, given) => {
    const used = findArguments(field, given);
    const declared = used.map(({ name, type, literal }) => `$${name}: ${type} = ${literal}`);
    return { query: build(field, declared.join(), used.map(({ name }) => `${name}: $${name}`).join()) };
  },
  'in literals together with a null variable': (field, given) => {
    const [{ name, literal } = expect.unreachable()] = findArguments(field, given);
    const bound = `${name}: ${literal.replace(/\}$/, ', userId: $none }')}`;
    return { query: build(field, '$none: ID = ""', bound), variables: { none: null } };
  },
};

/** The values that contain the mark: valid text, and invalid values. */
const values: Record<string, unknown> = {
  'a string': MARK,
  'an invalid string': `${MARK}\u0000`,
  'a list': [MARK],
  'an object': { [MARK]: MARK },
};

/** Inputs with credentials or personal data, and those next to one. */
const secretInputs = [
  'putContact',
  'registerPushSubscription',
  'storeEditorSubscription',
  'refreshEditorCredential',
];
const isSecret = ({ field, path, type }: InputPlace) =>
  type === 'Secret' || secretInputs.includes(field) || (path[1] === 'workspaces' && path.length === 4);

/** Returns a reply without its error items. */
function removeItems(text: string): string {
  const { errors = [], ...rest } = JSON.parse(text);
  for (const { extensions } of errors) delete extensions.errors;
  return JSON.stringify({ errors, ...rest });
}

/** Sends a value at a place, in one of the forms, and returns the reply. */
async function send(place: InputPlace, value: unknown, form = 'in variables'): Promise<string> {
  const { field } = place;
  const sent = argumentForms[form]?.(field, argumentsWith(place, value));
  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Accept: `${isSubscription(field) ? 'text/event-stream, ' : ''}application/json`,
    },
    body: JSON.stringify(sent),
  });
  if (response.headers.get('content-type') !== 'text/event-stream') return response.text();
  // The subscription is valid, and stays open.
  await response.body?.cancel();
  return '{}';
}

const named = inputPlaces.map(nameOf);

describe.each(Object.keys(argumentForms))('a marked value %s', (form) => {
  test.each(named)('for %s appears only in its own error items', async (_name, place) => {
    const replies = Object.values(values).map((value) => send(place, value, form));
    for (const text of await Promise.all(replies)) {
      expect(removeItems(text)).not.toContain(MARK);
      if (isSecret(place)) expect(text).not.toContain(`"${MARK}`);
    }
    // Audit lines contain the user whose records are affected, and lines of requests what they published.
    const lines = gateway
      .logLines()
      .splice(0)
      .filter((line) => !line.includes('"audit"'))
      .map((line) => line.replace(/"published":\[.*?\],/, ''));
    expect(lines.filter((line) => line.includes(MARK))).toEqual([]);
  });
});

test.each(named)('does not repeat long values of %s', async (_name, place) => {
  expect((await send(place, { [MARK]: MARK.repeat(10_000) })).length).toBeLessThan(4000);
});
