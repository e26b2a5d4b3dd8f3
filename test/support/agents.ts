import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { createAs } from './as.ts';
import { eventually } from './eventually.ts';
import { signTaskToken } from './tokens.ts';

type Gateway = { address: string };
type Body = Record<string, unknown>;

/** The bodies that were recorded of the hooks of an agent, in order. */
export const recorded = (agent: string): Body[] =>
  JSON.parse(readFileSync(`examples/agent/hooks/${agent}.json`, 'utf8'));

/** Returns the recorded body of an event, by default the first one, of a tool. */
export function recordedBody(agent: string, tool: string, event = 'PermissionRequest'): Body {
  const found = recorded(agent).find((body) => body.tool_name === tool && body.hook_event_name === event);
  if (found === undefined) throw new Error(`There is no recording of ${event} for ${tool}.`);
  return found;
}

/** The reply to a hook; `decision` is undefined if it is empty. */
export type HookReply = { status: number; text: string; decision?: Record<string, unknown> };

/** Sends a body to the hooks, by default of the agent `claude` in the project `web-shop`, with the token of a task. */
export async function sendHook(
  { address }: Gateway,
  body: unknown,
  { userId = 'alice', taskId = 'task-1', ...parameters }: Record<string, string> = {},
  init: RequestInit & { token?: string } = {},
): Promise<HookReply> {
  const token = init.token ?? (await signTaskToken(userId, taskId));
  const query = new URLSearchParams({ agent: 'claude', project: 'web-shop', ...parameters });
  const response = await fetch(`${address}/hooks/agent?${query}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  });
  const text = await response.text();
  const { hookEventName, decision } = text.startsWith('{"hook') ? JSON.parse(text).hookSpecificOutput : {};
  if (decision) expect(hookEventName).toBe('PermissionRequest');
  return { status: response.status, text, ...(decision && { decision }) };
}

const OPEN = `{ notifications(filter: { requestStates: [OPEN] }) { nodes { ... on UserNotification { id title task { id projectId } }
  ... on QuestionRequestedNotification { payload { questions { question header multiSelect options { label description preview } } } }
  ... on PlanRequestedNotification { planPayload: payload { summary plan input } } } } }`;

/** Returns the open requests of a user. */
export const listOpen = async (gateway: Gateway, userId: string) =>
  (await createAs(gateway)(userId).run(OPEN)).notifications.nodes;

/** Waits until a user has a number of open requests, and returns them. */
export const awaitOpen = (gateway: Gateway, userId: string, count = 1) =>
  eventually(async () => {
    const open = await listOpen(gateway, userId);
    expect(open).toHaveLength(count);
    return open;
  });
