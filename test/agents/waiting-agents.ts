import { Agent, request } from 'node:http';

/*
 * A process of agents that wait. The parent sends what each of them sends. Each reply is reported with the time at which it
 * has arrived, in milliseconds since 1970.
 */

/** What each agent sends. */
export type Work = { url: string; token: string; body: object }[];

export type AgentReply = { text: string; at: number };

const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });

process.on('message', (work: Work) => {
  for (const { url, token, body } of work) {
    const headers = {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    };
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => process.send?.({ text, at: Date.now() }));
    });
    sent.on('error', () => undefined);
    sent.end(JSON.stringify(body));
  }
});
