import { z } from 'zod';
import { body, route } from './route.ts';
import { secret } from './wire.ts';

/** Editor integration auth status of the specification. */
const status = z.strictObject({
  auth: z.strictObject({ type: z.enum(['none', 'subscription']) }),
  needs_reauth: z.boolean(),
  reauth_reason: z
    .enum(['token_expired', 'token_revoked', 'refresh_failed', 'credential_unreadable'])
    .optional(),
});

/** The credential of the coding editor. */
export const editorAuth = [
  route({
    method: 'put',
    path: '/editor/auth/subscription',
    field: 'storeEditorSubscription',
    body: z.strictObject({ accessToken: secret(), refreshToken: secret() }),
    bind: { input: { accessToken: body('accessToken'), refreshToken: body('refreshToken') } },
    reply: { status: 200, from: 'editorAuth', shape: status },
  }),
  route({
    method: 'get',
    path: '/editor/auth',
    field: 'editorAuth',
    bind: {},
    reply: { status: 200, shape: status },
  }),
  route({
    method: 'delete',
    path: '/editor/auth',
    field: 'deleteEditorAuth',
    bind: {},
    reply: { status: 204, from: 'editorAuth', shape: status },
  }),
];
