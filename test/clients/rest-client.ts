import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './rest-api.d.ts';

/*
 * A program of a customer's: written against the types that openapi-typescript makes of rest/openapi.json, and
 * compiled without a cast.
 */

type Schemas = components['schemas'];

/** The REST face, typed by its document. */
export type Gateway = Client<paths>;

/** Everything that may come instead of what was asked for. */
export type Failure = Schemas[
  | 'BadRequest'
  | 'Unauthenticated'
  | 'Forbidden'
  | 'OrgMembershipRequired'
  | 'NotFound'
  | 'ValidationFailed'
  | 'RateLimited'
  | 'InternalError'];

/** What was asked for, or in words why not. */
export type Outcome<Value> = { value: Value } | { refusal: string };

export function connect(baseUrl: string, token?: string): Gateway {
  return createClient<paths>({
    baseUrl,
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
  });
}

/** Tells a failure in words; the code says which fields there are. */
function explain(failure: Failure): string {
  switch (failure.code) {
    case 'validation_failed':
    case 'bad_request':
      return failure.errors.map(({ location, message }) => `${location} ${message}`).join('; ');
    case 'unauthenticated':
      return 'sign in again';
    case 'org_membership_required':
      // @ts-expect-error: this body alone has no list of issues.
      return `join an organization${failure.errors ?? ''}`;
    case 'forbidden':
    case 'not_found':
    case 'rate_limited':
    case 'internal_error':
      return `${failure.code}: ${failure.error}`;
  }
}

/** A line for the terminal; the kind says what is in the payload. */
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

/** A line for the terminal; only a failed workspace has an error's message. */
function describeWorkspace(workspace: Schemas['Workspace']): string {
  const { id, status, hardware } = workspace;
  if (workspace.status === 'error') return `${id} ${status}: ${workspace.error_message ?? 'unknown'}`;
  // @ts-expect-error: any other has none.
  return `${id} ${status} on ${hardware.cpus} ${hardware.cpu_kind}${workspace.error_message ?? ''}`;
}

type Filter = NonNullable<paths['/user/notifications']['get']['parameters']['query']>;

export async function listNotifications(gateway: Gateway, query: Filter = {}): Promise<string[]> {
  const { data, error } = await gateway.GET('/user/notifications', { params: { query } });
  if (error) throw new Error(explain(error));
  return data.notifications.map(describe);
}

/** The inbox page by page, until one is not full. */
export async function* pagesOfNotifications(gateway: Gateway, limit: number): AsyncGenerator<string[]> {
  for (let offset = 0; ; offset += limit) {
    const page = await listNotifications(gateway, { limit, offset });
    if (page.length > 0) yield page;
    if (page.length < limit) return;
  }
}

/** Reads a list again and again: the number of its workspaces, and whether it is still the one that was read last. */
export function watchWorkspaces(gateway: Gateway): () => Promise<'unchanged' | string[]> {
  let known: string | null = null;
  return async () => {
    const header = known === null ? {} : { 'If-None-Match': known };
    const { data, error, response } = await gateway.GET('/user/workspaces', { params: { header } });
    if (response.status === 304) return 'unchanged';
    if (error) throw new Error(explain(error));
    known = response.headers.get('ETag');
    return data?.workspaces.map(describeWorkspace) ?? [];
  };
}

export async function dismiss(gateway: Gateway, id: string): Promise<Outcome<Schemas['NotificationStatus']>> {
  const { data, error } = await gateway.POST('/user/notifications/{id}/dismiss', {
    params: { path: { id } },
  });
  return error ? { refusal: explain(error) } : { value: data.notification.status };
}

/** The kinds that reach the user by email. */
export async function listMailed(gateway: Gateway): Promise<Outcome<Schemas['NotificationKind'][]>> {
  const { data, error } = await gateway.GET('/user/notification-preferences');
  if (error) return { refusal: explain(error) };
  const mailed = data.preferences.filter(({ email_enabled }) => email_enabled);
  return { value: mailed.map(({ notification_kind }) => notification_kind) };
}

/** Lets email tell of these kinds alone; answers when each last changed. */
export async function mailOnly(
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

/** Answers the status of the reply: nothing else comes back. */
export async function disconnectEditor(gateway: Gateway): Promise<Outcome<number>> {
  const { error, response } = await gateway.DELETE('/editor/auth');
  return error ? { refusal: explain(error) } : { value: response.status };
}

/** Asks until the rate limit says how many seconds to wait. */
export async function secondsToWait(gateway: Gateway): Promise<number> {
  for (;;) {
    const { error, response } = await gateway.GET('/user/workspaces');
    if (error?.code === 'rate_limited') return Number(response.headers.get('Retry-After'));
    if (error) throw new Error(explain(error));
  }
}
