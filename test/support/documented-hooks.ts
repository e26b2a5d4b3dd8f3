import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { readBlocks, readPage } from './documentation.ts';
import { makeFolder } from './folder.ts';

type Hook = { type: string; timeout: number; url: string; headers: Record<string, string>; command: string };
type Configuration = { hooks: Record<string, { matcher?: string; hooks: [Hook] }[]> };

/** The configurations of docs/agents.md. */
const [claude, codex] = readBlocks(readPage('docs/agents.md')).flatMap(({ content }): Configuration[] => {
  const [, json] = /<<'END'\n(\{ "hooks".*)\nEND$/s.exec(content.trimEnd()) ?? [];
  return json === undefined ? [] : [JSON.parse(json)];
});

/** The file from which commands read the token. */
export const tokenFile = join(await makeFolder(), 'token');

/**
 * Runs the documented hook of a body as the agent runs it, and returns what it printed, and its exit status. `change`
 * changes the command line.
 */
export async function runHook(
  { address }: { address: string },
  agent: string,
  body: Record<string, unknown>,
  token: string,
  change = (command: string) => command,
) {
  const configuration = agent === 'claude' ? claude : codex;
  const hook = configuration?.hooks[String(body.hook_event_name)]?.find(
    ({ matcher = '.*' }) =>
      body.tool_name === undefined || new RegExp(`^(${matcher})$`).test(String(body.tool_name)),
  )?.hooks[0];
  if (hook === undefined) return expect.unreachable();
  const place = (given: string) => given.replace('https://gateway.example.com', address);
  if (hook.type === 'http') {
    const headers = Object.entries(hook.headers).map(([name, value]) => [
      name,
      value.replace('$TASK_TOKEN', token),
    ]);
    const response = await fetch(place(hook.url), {
      method: 'POST',
      headers: { ...Object.fromEntries(headers), 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.ok ? 0 : response.status, output: await response.text(), errors: '' };
  }
  await writeFile(tokenFile, token);
  const command = place(hook.command)
    .replace('~/ask.sh', 'examples/agent/hooks/ask.sh')
    .replace('~/.task-token', tokenFile);
  const child = spawn('sh', ['-c', change(command)], { stdio: 'pipe' });
  child.stdin.end(JSON.stringify(body));
  const [output, errors, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('close', resolve)),
  ]);
  return { status, output, errors };
}
