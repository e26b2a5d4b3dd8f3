/*
 * An agent of the AI SDK with a tool that runs only if the user allows it in the inbox: what the hooks of coding agents
 * send asks for any program. Needs GATEWAY_URL, TASK_TOKEN and PROJECT_ID.
 */
import { generateText, type LanguageModel, type ModelMessage, tool } from 'ai';
import { z } from 'zod';

const { GATEWAY_URL, TASK_TOKEN, PROJECT_ID = '' } = process.env;
const session_id = crypto.randomUUID();

/** Asks whether a call may run, and waits until the user decides or the request expires. */
async function decide(call: string, tool_name: string, tool_input: unknown) {
  const query = new URLSearchParams({ agent: 'codex', project: PROJECT_ID, unanswered: 'deny', call });
  const headers = { Authorization: `Bearer ${TASK_TOKEN}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ hook_event_name: 'PermissionRequest', session_id, tool_name, tool_input });
  for (;;) {
    const reply = await fetch(`${GATEWAY_URL}/hooks/agent?${query}`, { method: 'POST', headers, body });
    if (reply.status !== 202) return (await reply.json()).hookSpecificOutput.decision;
  }
}

const execute = ({ service }: { service: string }) => `${service} is deployed`;
const tools = { deploy: tool({ inputSchema: z.object({ service: z.string() }), execute }) };

/** Runs the agent until it has nothing more to do, and returns what it says then. */
export async function run(model: LanguageModel, prompt: string): Promise<string> {
  const messages: ModelMessage[] = [{ role: 'user', content: prompt }];
  for (;;) {
    const approval = { toolApproval: { deploy: 'user-approval' } } as const;
    const { content, text, response } = await generateText({ model, messages, tools, ...approval });
    messages.push(...response.messages);
    const asked = content.filter((part) => part.type === 'tool-approval-request');
    if (asked.length === 0) return text;
    for (const { approvalId, toolCall } of asked) {
      const { behavior, message } = await decide(approvalId, toolCall.toolName, toolCall.input);
      const answer = { approvalId, approved: behavior === 'allow', reason: message };
      messages.push({ role: 'tool', content: [{ type: 'tool-approval-response', ...answer }] });
    }
  }
}
