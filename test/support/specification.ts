import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/*
 * The specification's tables as JSON Schema, written independently of the code under test. Every reply of every REST
 * test is checked against them. As in the tables, no additional properties are allowed.
 */

const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };
const id = { type: 'string', minLength: 1 };
const boolean = { type: 'boolean' };
const integer = { type: 'integer' };
/** RFC 3339 in UTC with milliseconds: the contract narrows the specification's date-time to this form. */
const time = {
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
};
const timeOrNull = { anyOf: [time, { type: 'null' }] };

function strict(required: Record<string, object>, optional: Record<string, object> = {}) {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

function list(items: object) {
  return { type: 'array', items };
}

const option = strict({ label: text }, { description: text, preview: text });
const question = strict(
  { question: text, options: list(option) },
  { header: text, id: text, multiSelect: { type: ['boolean', 'null'] } },
);
const planPayload = strict({
  tool_id: id,
  summary: text,
  plan: text,
  input: { type: 'object', properties: { summary: text, plan: text }, required: ['summary', 'plan'] },
});
const questionPayload = strict({
  tool_id: id,
  input: { type: 'object', properties: { questions: list(question) }, required: ['questions'] },
});
/** By contract, a nullable field is always present. */
const resultPayload = strict(
  { task_status: { enum: ['awaiting_input', 'errored'] }, message_timestamp: textOrNull },
  { message: text, message_label: text },
);
const task = strict({ id, project_id: id, workspace_id: textOrNull }, { name: text });

function notificationSchema(kind: string, payload: object) {
  return strict(
    {
      id,
      kind: { const: kind },
      status: { enum: ['active', 'resolved', 'dismissed'] },
      task,
      title: text,
      payload,
      occurred_at: time,
      created_at: time,
      updated_at: time,
      dismissed_at: timeOrNull,
      resolved_at: timeOrNull,
      pr_url: textOrNull,
      preview_text: textOrNull,
      project_repo_url: textOrNull,
    },
    { project_name: text },
  );
}

const notification = {
  oneOf: [
    notificationSchema('plan_requested', planPayload),
    notificationSchema('question_requested', questionPayload),
    notificationSchema('task_failed', resultPayload),
    notificationSchema('task_response_ready', resultPayload),
  ],
};

const kind = { enum: ['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'] };
const counts = strict({ total: integer, by_kind: list(strict({ kind, count: integer })) });
const channels = {
  notification_kind: kind,
  email_enabled: boolean,
  push_enabled: boolean,
  chat_dm_enabled: boolean,
};
const storedPreference = strict({ ...channels, user_id: text, created_at: time, updated_at: time });
const preference = strict({ ...channels, user_id: text }, { created_at: time, updated_at: time });

const hardware = strict({
  cpu_kind: text,
  cpus: integer,
  memory_mb: integer,
  volume_size_gb: integer,
  gpu_kind: textOrNull,
});
const workspaceFields = {
  id: { type: 'string', format: 'uuid' },
  project_id: text,
  hardware,
  keep_active: boolean,
  created_at: time,
  updated_at: time,
};
const provisioned = { machine_id: text, private_ip: text, git_ref: text, preview_token: text };
const workspace = {
  oneOf: [
    strict(
      { ...workspaceFields, status: { enum: ['creating', 'starting', 'running', 'stopping', 'stopped'] } },
      provisioned,
    ),
    strict({ ...workspaceFields, status: { const: 'error' }, error_message: textOrNull }, provisioned),
  ],
};

const editorAuth = {
  oneOf: [
    strict({ auth: strict({ type: { enum: ['none', 'subscription'] } }), needs_reauth: { const: false } }),
    strict({
      auth: strict({ type: { enum: ['none', 'subscription'] } }),
      needs_reauth: { const: true },
      reauth_reason: { enum: ['token_expired', 'token_revoked', 'refresh_failed', 'credential_unreadable'] },
    }),
  ],
};

const errorItem = strict({ location: text, message: text, value: {} });

function errorSchema(code: string) {
  return strict({ error: { type: 'string', minLength: 1 }, code: { const: code }, errors: list(errorItem) });
}

/** Every error body that the specification allows. The contract narrows it further. */
export const errorResponse = strict(
  { error: { type: 'string', minLength: 1 } },
  { code: text, errors: list(errorItem) },
);

const errors: Record<number, object> = {
  400: errorSchema('bad_request'),
  401: errorSchema('unauthenticated'),
  403: {
    oneOf: [
      errorSchema('forbidden'),
      strict({ error: { type: 'string', minLength: 1 }, code: { const: 'org_membership_required' } }),
    ],
  },
  404: errorSchema('not_found'),
  409: errorSchema('conflict'),
  422: errorSchema('validation_failed'),
  429: errorSchema('rate_limited'),
  500: errorSchema('internal_error'),
};

const integers = list(integer);
const answer = strict(
  { answer_id: textOrNull, by: textOrNull, via: { enum: ['graphql', 'rest', 'default'] }, answered_at: time },
  {
    plan: strict({ decision: { enum: ['approve', 'request_changes', 'reject'] }, feedback: textOrNull }),
    questions: list(
      strict({ index: integer, question: text, options: integers, labels: list(text), other: textOrNull }),
    ),
    reply: strict({ text }),
  },
);

const state = { enum: ['open', 'answered', 'expired', 'withdrawn'] };
const receipt = strict({ outcome: { enum: ['accepted', 'refused'] }, message: textOrNull, at: time });
const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
const request = strict({
  state,
  expires_at: timeOrNull,
  on_expiry: orNull(answer),
  answer: orNull(answer),
  receipt: orNull(receipt),
});
const requests = list(strict({ notification, request }));

/** The successful reply of every operation by method and path. */
const successes: [method: string, path: RegExp, status: number, body: object | null][] = [
  ['POST', /^\/user\/notifications\/[^/]+\/dismiss$/, 200, strict({ notification })],
  ['GET', /^\/user\/notifications$/, 200, strict({ notifications: list(notification) })],
  ['GET', /^\/user\/notifications\/[^/]+$/, 200, strict({ notification, request: orNull(request) })],
  ['GET', /^\/user\/requests$/, 200, strict({ requests })],
  ['GET', /^\/user\/notification-counts$/, 200, counts],
  [
    'POST',
    /^\/user\/notifications\/dismiss$/,
    200,
    strict({ dismissed_count: integer, notifications: list(notification), undo_token: textOrNull }),
  ],
  ['POST', /^\/user\/notifications\/[^/]+\/restore$/, 200, strict({ notification })],
  [
    'POST',
    /^\/user\/notifications\/restore$/,
    200,
    strict({ restored_count: integer, notifications: list(notification) }),
  ],
  ['POST', /^\/user\/notifications\/[^/]+\/answer$/, 200, strict({ answer })],
  ['GET', /^(\/user\/(notifications|requests)|(\/user)?\/workspaces)$/, 304, null],
  ['PUT', /^\/user\/notification-preferences$/, 200, strict({ preferences: list(storedPreference) })],
  ['PATCH', /^\/user\/notification-preferences$/, 200, strict({ preferences: list(storedPreference) })],
  ['GET', /^\/user\/notification-preferences$/, 200, strict({ preferences: list(preference) })],
  ['PUT', /^\/editor\/auth\/subscription$/, 200, editorAuth],
  ['GET', /^\/editor\/auth$/, 200, editorAuth],
  ['DELETE', /^\/editor\/auth$/, 204, null],
  ['GET', /^(\/user)?\/workspaces$/, 200, strict({ workspaces: list(workspace) })],
];

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
formats.default(ajv);
const compiled = new Map<object, ValidateFunction>();

/** Throws unless the specification allows this reply to this request. */
export function checkAgainstSpecification(
  request: { method: string; path: string },
  reply: { status: number; headers: Headers; text: string },
): void {
  const what = `${request.method} ${request.path} -> ${reply.status} ${reply.text.slice(0, 2000)}`;
  const [path = ''] = request.path.split('?', 1);
  const schema = findSchema(request.method, path, reply.status);
  if (schema === undefined) throw new Error(`The specification describes no such reply: ${what}`);
  if (schema === null) {
    if (reply.text !== '') throw new Error(`There must be no body: ${what}`);
    return;
  }
  if (reply.headers.get('content-type') !== 'application/json; charset=utf-8') {
    throw new Error(`The content type is ${reply.headers.get('content-type')}: ${what}`);
  }
  if (reply.status === 401 && !reply.headers.get('www-authenticate')?.startsWith('Bearer')) {
    throw new Error(`A 401 needs WWW-Authenticate (RFC 6750): ${what}`);
  }
  if (reply.status === 429 && !/^[1-9]\d*$/.test(reply.headers.get('retry-after') ?? '')) {
    throw new Error(`A 429 needs Retry-After in whole seconds: ${what}`);
  }
  const validate = compiled.get(schema) ?? ajv.compile(schema);
  compiled.set(schema, validate);
  if (validate(JSON.parse(reply.text))) return;
  const failures = validate.errors ?? [];
  const unknown = new Set(failures.map(({ params }) => params.additionalProperty).filter(Boolean));
  const added = [...unknown].map((name) => `This reply must not have "${name}". `);
  throw new Error(`${added.join('')}${ajv.errorsText(failures)}: ${what}`);
}

function findSchema(method: string, path: string, status: number): object | null | undefined {
  const success = successes.find(
    ([verb, pattern, code]) => verb === method && code === status && pattern.test(path),
  );
  return success === undefined ? errors[status] : success[3];
}
