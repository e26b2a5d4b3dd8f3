import type { ServerResponse } from 'node:http';

/** Sends a UTF-8 reply. Node.js writes headers and body together because the body is a string. */
export function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}
