import { Ajv2020 } from 'ajv/dist/2020.js';
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
const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
const list = (items: object) => ({ type: 'array', items });
const timeOrNull = orNull(time);
const strict = (required: Record<string, object>, optional: Record<string, object> = {}) => ({
  type: 'object',
  properties: { ...required, ...optional },
  required: Object.keys(required),
  additionalProperties: false,
});

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

const notificationOf = (kind: string, payload: object) =>
  strict(
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

const notification = {
  oneOf: [
    notificationOf('plan_requested', planPayload),
    notificationOf('question_requested', questionPayload),
    notificationOf('task_failed', resultPayload),
    notificationOf('task_response_ready', resultPayload),
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

const auth = strict({ type: { enum: ['none', 'subscription'] } });
const reauthReasons = ['token_expired', 'token_revoked', 'refresh_failed', 'credential_unreadable'];
const editorAuth = {
  oneOf: [
    strict({ auth, needs_reauth: { const: false } }),
    strict({ auth, needs_reauth: { const: true }, reauth_reason: { enum: reauthReasons } }),
  ],
};

const error = { type: 'string', minLength: 1 };
const items = list(strict({ location: text, message: text, value: {} }));

/** Every error body that the specification allows. The contract narrows it further. */
export const errorResponse = strict({ error }, { code: text, errors: items });

const errorOf = (code: string) => strict({ error, code: { const: code }, errors: items });
const errors: Record<number, object> = {
  400: errorOf('bad_request'),
  401: errorOf('unauthenticated'),
  403: { oneOf: [errorOf('forbidden'), strict({ error, code: { const: 'org_membership_required' } })] },
  404: errorOf('not_found'),
  409: errorOf('conflict'),
  422: errorOf('validation_failed'),
  429: errorOf('rate_limited'),
  500: errorOf('internal_error'),
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
const request = strict({
  state,
  expires_at: timeOrNull,
  on_expiry: orNull(answer),
  answer: orNull(answer),
  receipt: orNull(receipt),
});
const requests = list(strict({ notification, request }));

const stored = strict({ preferences: list(storedPreference) });
const workspaces = strict({ workspaces: list(workspace) });

/** The body of the reply with status 200 to every operation. */
const successes: Readonly<Record<string, object>> = {
  'POST /user/notifications/{id}/dismiss': strict({ notification }),
  'GET /user/notifications': strict({ notifications: list(notification) }),
  'GET /user/notifications/{id}': strict({ notification, request: orNull(request) }),
  'GET /user/requests': strict({ requests }),
  'GET /user/notification-counts': counts,
  'POST /user/notifications/dismiss': strict({
    dismissed_count: integer,
    notifications: list(notification),
    undo_token: textOrNull,
  }),
  'POST /user/notifications/{id}/restore': strict({ notification }),
  'POST /user/notifications/restore': strict({
    restored_count: integer,
    notifications: list(notification),
  }),
  'POST /user/notifications/{id}/answer': strict({ answer }),
  'PUT /user/notification-preferences': stored,
  'PATCH /user/notification-preferences': stored,
  'GET /user/notification-preferences': strict({ preferences: list(preference) }),
  'PUT /editor/auth/subscription': editorAuth,
  'GET /editor/auth': editorAuth,
  'GET /workspaces': workspaces,
  'GET /user/workspaces': workspaces,
};

/** The lists that reply with 304 to `If-None-Match`. */
const CONDITIONAL = /^GET (\/user\/(notifications|requests)|(\/user)?\/workspaces)$/;

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
formats.default(ajv);

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
  // Schemas are compiled once.
  const validate = ajv.compile(schema);
  if (validate(JSON.parse(reply.text))) return;
  const failures = validate.errors ?? [];
  const unknown = new Set(failures.map(({ params }) => params.additionalProperty).filter(Boolean));
  const added = [...unknown].map((name) => `This reply must not have "${name}". `);
  throw new Error(`${added.join('')}${ajv.errorsText(failures)}: ${what}`);
}

/** Returns the schema of a reply's body; null if it has none, undefined if there is no such reply. */
function findSchema(method: string, path: string, status: number): object | null | undefined {
  const operation = `${method} ${path}`;
  if (status === 304 && CONDITIONAL.test(operation)) return null;
  if (status === 204 && operation === 'DELETE /editor/auth') return null;
  if (status !== 200) return errors[status];
  return successes[operation] ?? successes[operation.replace(/(?<=\/notifications\/)[^/]+/, '{id}')];
}
