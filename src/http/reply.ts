import type { ServerResponse } from 'node:http';

/** The media type of JSON, with its charset. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** Answers a text. As text it goes out together with the head, in one write. */
export function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}
