import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './rest-api.d.ts';

/*
 * A client of the REST API: written against the types that openapi-typescript generates from rest/openapi.json, and
 * compiled without casts.
 */

type Schemas = components['schemas'];

/** The REST API, typed by its document. */
export type Gateway = Client<paths>;

/** Every error body. */
export type Failure = Schemas['ErrorResponse'];

/** The value, or the reason why there is none. */
export type Outcome<Value> = { value: Value } | { refusal: string };

export function connect(baseUrl: string, token?: string): Gateway {
  return createClient<paths>({
    baseUrl,
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
  });
}

/** Describes an error. The compiler checks that every code is handled. */
function explain(failure: Failure): string {
  switch (failure.code) {
    case 'validation_failed':
    case 'bad_request':
      return (failure.errors ?? []).map(({ location, message }) => `${location} ${message}`).join('; ');
    case 'unauthenticated':
      return 'sign in again';
    case 'org_membership_required':
      return 'join an organization';
    case 'forbidden':
    case 'not_found':
    case 'conflict':
    case 'rate_limited':
    case 'internal_error':
      return `${failure.code}: ${failure.error}`;
  }
}

/** Formats a notification as one line; the kind determines the type of the payload. */
function describe(notification: Schemas['Notification']): string {
  switch (notification.kind) {
    case 'plan_requested':
      return `plan: ${notification.payload.summary}`;
    case 'question_requested':
      return `question: ${notification.payload.input.questions.map(({ question }) => question).join(' ')}`;
    case 'task_failed':
      return `failed: ${notification.payload.message ?? notification.title}`;
    case 'task_response_ready':
      return `${notification.payload.task_status}: ${notification.payload.message ?? notification.title}`;
  }
}

/** Formats a workspace as one line; only a workspace in the status `error` has an error message. */
function describeWorkspace({ id, status, hardware, error_message }: Schemas['Workspace']): string {
  if (status === 'error') return `${id} ${status}: ${error_message ?? 'unknown'}`;
  return `${id} ${status} on ${hardware.cpus} ${hardware.cpu_kind}`;
}

type Filter = NonNullable<paths['/user/notifications']['get']['parameters']['query']>;

export async function listNotifications(gateway: Gateway, query: Filter = {}): Promise<string[]> {
  const { data, error } = await gateway.GET('/user/notifications', { params: { query } });
  if (error) throw new Error(explain(error));
  return data.notifications.map(describe);
}

/** Reads the inbox page by page. The header `Link` of each page but the last has the cursor of the next. */
export async function* readNotificationPages(gateway: Gateway, limit: number): AsyncGenerator<string[]> {
  let query: Filter | undefined = { limit };
  while (query !== undefined) {
    const { data, error, response } = await gateway.GET('/user/notifications', { params: { query } });
    if (error) throw new Error(explain(error));
    yield data.notifications.map(describe);
    const after = readNextCursor(response.headers);
    query = after === undefined ? undefined : { limit, after };
  }
}

function readNextCursor(headers: Headers): string | undefined {
  const [, url] = /^<(.+)>; rel="next"$/.exec(headers.get('Link') ?? '') ?? [];
  return url === undefined ? undefined : (new URL(url).searchParams.get('after') ?? undefined);
}

/** Returns a function that reads the workspaces, or `unchanged` if they are the same as at the last read. */
export function watchWorkspaces(gateway: Gateway): () => Promise<'unchanged' | string[]> {
  let etag: string | null = null;
  return async () => {
    const header = etag === null ? {} : { 'If-None-Match': etag };
    const { data, error, response } = await gateway.GET('/user/workspaces', { params: { header } });
    if (response.status === 304) return 'unchanged';
    if (error) throw new Error(explain(error));
    etag = response.headers.get('ETag');
    return data?.workspaces.map(describeWorkspace) ?? [];
  };
}

export async function dismiss(gateway: Gateway, id: string): Promise<Outcome<Schemas['NotificationStatus']>> {
  const { data, error } = await gateway.POST('/user/notifications/{id}/dismiss', {
    params: { path: { id } },
  });
  return error ? { refusal: explain(error) } : { value: data.notification.status };
}

/** Lists the kinds with email notifications. */
export async function listEmailKinds(gateway: Gateway): Promise<Outcome<Schemas['NotificationKind'][]>> {
  const { data, error } = await gateway.GET('/user/notification-preferences');
  if (error) return { refusal: explain(error) };
  const mailed = data.preferences.filter(({ email_enabled }) => email_enabled);
  return { value: mailed.map(({ notification_kind }) => notification_kind) };
}

/** Enables email notifications for these kinds only, and returns when each preference was last changed. */
export async function enableEmailOnly(
  gateway: Gateway,
  kinds: readonly Schemas['NotificationKind'][],
): Promise<Outcome<string[]>> {
  const others = { push_enabled: true, chat_dm_enabled: true };
  const wanted = kinds.map((notification_kind) => ({ notification_kind, email_enabled: true, ...others }));
  const { data, error } = await gateway.PUT('/user/notification-preferences', {
    body: { preferences: [{ email_enabled: false, ...others }, ...wanted] },
  });
  return error
    ? { refusal: explain(error) }
    : { value: data.preferences.map(({ updated_at }) => updated_at) };
}

export async function connectEditor(
  gateway: Gateway,
  pair: Schemas['EditorSubscription'],
): Promise<Outcome<Schemas['EditorAuthStatus']>> {
  const { data, error } = await gateway.PUT('/editor/auth/subscription', { body: pair });
  return error ? { refusal: explain(error) } : { value: data };
}

export async function editorStatus(gateway: Gateway): Promise<Outcome<string>> {
  const { data, error } = await gateway.GET('/editor/auth');
  if (error) return { refusal: explain(error) };
  return { value: data.needs_reauth ? `${data.auth.type}, ${data.reauth_reason}` : data.auth.type };
}

/** Returns the status of the reply, which has no body. */
export async function disconnectEditor(gateway: Gateway): Promise<Outcome<number>> {
  const { error, response } = await gateway.DELETE('/editor/auth');
  return error ? { refusal: explain(error) } : { value: response.status };
}

/** Sends requests until the rate limit is reached, and returns how many seconds to wait. */
export async function measureRetryAfter(gateway: Gateway): Promise<number> {
  for (;;) {
    const { error, response } = await gateway.GET('/user/workspaces');
    if (error?.code === 'rate_limited') return Number(response.headers.get('Retry-After'));
    if (error) throw new Error(explain(error));
  }
}
