import type { Tag } from '../route.ts';

/** What holds for every operation, in Markdown. */
export const introduction = `
Notifications, notification preferences, the credential of the coding editor and the workspaces of a user.

- **Times** are RFC 3339 in UTC with milliseconds. **Ids** are opaque text of 1 to 255 characters, unique within a user.
- **Absent or null.** A field that may be null is always present; one that may not is left out while it is unset.
- **Bodies** are JSON in UTF-8, at most 1 MiB and 256 levels deep, with \`Content-Type: application/json\`. Unknown
  properties are refused; unknown query parameters are ignored. Other operations read no body.
- **Lists** are newest first and stable under paging. Without \`limit\` they are whole. Read again with
  \`If-None-Match\`, a list that has not changed is a 304.
- **Errors** have a code of one closed list. \`errors\` lists every error of the first check that fails, at most 100,
  each with its location. Values of more than 1 KiB are described instead of repeated. Checks run in this order: path
  (404), token (401), permission (403), rate limit (429), syntax (400), shape (422), rules (422), record (404). An unknown
  path or method is a 404, another user's record too.
- **Rate limits** count a user's reads and writes separately, over this API and GraphQL together. An invalid request
  counts like a valid one. A list counts once for every 1,000 records. \`RateLimit-*\` headers show what is left.
- **Extensions** (\`x-extension\`) go beyond the specification of the service; all else is of it.
`.trim();

/** How a caller proves who it is. */
export const bearer = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: `
A JWT signed with EdDSA, ES256, RS256 or PS256 by a key of the configured set. \`sub\` (the user, 1 to 255 characters) and
\`exp\` are required; \`iss\` and \`aud\` are what the operator configured. The claim \`org_id\` (or the one that the operator
names) tells membership in organizations: a text, or a list of texts.

A token without \`scope\` has its user's whole account. One with \`scope\` has what it names, separated by spaces:

- \`account:read\` reads the account.
- \`account:write\` changes it, and reads it.
`.trim(),
};

/** The parts of the reference, in order. */
export const tags: Readonly<Record<Tag, string>> = {
  Notifications: "The user's inbox: what coding tasks need of the user, and what came of them.",
  'Notification preferences': 'The channels that notifications of each kind may take.',
  'Editor auth': 'The credential of the coding editor: it is stored here and never given out.',
  Workspaces: 'The development workspaces of the user.',
};
