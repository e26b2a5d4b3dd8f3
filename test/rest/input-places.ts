import { type GraphQLInputType, getNullableType, isInputObjectType, isListType } from 'graphql';
import { formatEventCursor } from '../../src/revisions/event-cursor.ts';
import { goodArguments, rootFields } from '../support/root-fields.ts';

type Step = string | number;

/** A position in the arguments of a root field that takes a scalar or an enum value. */
export type InputPlace = { field: string; path: Step[]; type: string };

function findPlaces(type: GraphQLInputType, path: Step[]): { path: Step[]; type: string }[] {
  const inner = getNullableType(type);
  if (isListType(inner)) return findPlaces(inner.ofType, [...path, 0]);
  if (isInputObjectType(inner)) {
    return Object.values(inner.getFields()).flatMap((field) => findPlaces(field.type, [...path, field.name]));
  }
  return [{ path, type: inner.name }];
}

/** Every {@link InputPlace} of the schema. */
export const inputPlaces = Object.entries(rootFields).flatMap(([field, { args }]) =>
  args.flatMap(({ name, type }) =>
    findPlaces(type, [name]).map((place): InputPlace => ({ field, ...place })),
  ),
);

/** Formats a path as error items do. */
export const formatPath = (path: readonly Step[]) =>
  path.reduce<string>(
    (all, step) => (typeof step === 'number' ? `${all}[${step}]` : all ? `${all}.${step}` : step),
    '',
  );

/** Returns a place with its name, such as `notification(id)`. */
export const nameOf = (place: InputPlace): [name: string, place: InputPlace] => [
  `${place.field}(${formatPath(place.path)})`,
  place,
];

/** Payloads that complete the valid arguments of a root field. */
const payloads: Readonly<Record<string, object>> = {
  planRequested: { toolId: 'tool-1', input: { summary: '', plan: '' } },
  questionRequested: { toolId: 'tool-1', input: { questions: [] } },
  taskFailed: { taskStatus: 'ERRORED' },
  taskResponseReady: { taskStatus: 'ERRORED' },
};

const noChange = { epoch: '', revision: 0 };

/** Answers that complete the valid arguments of a root field. An answer has exactly one of these members. */
const answers: Readonly<Record<string, object>> = {
  plan: { decision: 'APPROVE' },
  questions: [{ index: 0, options: [0] }],
  reply: { text: 'Yes' },
};

/** Returns valid arguments of a root field with one value replaced. */
export function argumentsWith({ field, path }: InputPlace, value: unknown): Record<string, unknown> {
  const given = structuredClone(goodArguments[field]?.('alice') ?? {});
  const payload = path.indexOf('payload');
  const member = path[payload + 1];
  if (payload >= 0 && typeof member === 'string')
    Object.assign(getOrCreate(given, path.slice(0, payload)), {
      payload: { [member]: structuredClone(payloads[member]) },
    });
  const answer = path.find((step) => step in answers);
  if (answer !== undefined) {
    const parent = getOrCreate(given, path.slice(0, path.indexOf(answer)));
    for (const member of Object.keys(answers)) Reflect.deleteProperty(parent, member);
    Object.assign(parent, { [answer]: structuredClone(answers[answer]) });
  }
  if (field === 'dismissNotifications' && path[1] === 'filter')
    Object.assign(given, { input: { filter: { upTo: formatEventCursor(noChange) } } });
  if (field === 'restoreNotifications' && path[1] === 'undoToken') Object.assign(given, { input: {} });
  Reflect.set(getOrCreate(given, path.slice(0, -1), path.at(-1)), path.at(-1) ?? '', value);
  return given;
}

/** Returns the object at a path and creates it if necessary; `last` is the step that follows the path. */
function getOrCreate(given: object, path: readonly Step[], last?: Step): object {
  let found = given;
  for (const [index, step] of path.entries()) {
    const following = path[index + 1] ?? last;
    if (!Reflect.has(found, step)) Reflect.set(found, step, typeof following === 'number' ? [] : {});
    const next: unknown = Reflect.get(found, step);
    if (typeof next !== 'object' || next === null)
      throw new Error(`There is no object at ${formatPath(path)}.`);
    found = next;
  }
  return found;
}
