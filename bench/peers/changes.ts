import type { IncomingMessage } from 'node:http';
import type { Caller } from './authenticate.ts';
import { updatePreferences } from './preferences.ts';
import { publish } from './publish.ts';
import { storeSubscription } from './subscription.ts';
import { putWorkspaces } from './workspaces.ts';

/** Handles a request that changes records and returns the body of the reply; undefined for any other request. */
export async function change(request: IncomingMessage, { userId }: Caller): Promise<object | undefined> {
  switch (`${request.method} ${request.url}`) {
    case 'POST /notification': {
      const [publication] = await publish([await readBody(request)]);
      return publication;
    }
    case 'POST /notifications': {
      const { notifications } = await readBody<{ notifications: Parameters<typeof publish>[0] }>(request);
      return { results: await publish(notifications) };
    }
    case 'PUT /user/notification-preferences':
      return { preferences: await updatePreferences(userId, await readBody(request)) };
    case 'PUT /editor/auth/subscription':
      return storeSubscription(userId, await readBody(request));
    case 'PUT /workspaces':
      return { workspaces: await putWorkspaces(await readBody(request)) };
    default:
      return undefined;
  }
}

/** Reads the body of a request as JSON, without validation: the load sends valid requests. */
async function readBody<Body>(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body: Body = JSON.parse(Buffer.concat(chunks).toString());
  return body;
}
