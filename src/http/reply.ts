import type { ServerResponse } from 'node:http';

/** Answers a text of a media type, in UTF-8. As text it goes out together with the head, in one write. */
export function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}
