import { z } from 'zod';
import { editorAuthTypes, reauthReasons } from '../src/editor-auth/editor-auth.enums.ts';
import { body, route } from './route.ts';
import { secret } from './wire.ts';

/** Editor integration auth status of the specification. */
const status = z
  .strictObject({
    auth: z
      .strictObject({
        type: z
          .enum(editorAuthTypes)
          .describe('`none`: nothing is stored. `subscription`: the pair of tokens of a subscription.'),
      })
      .meta({ id: 'EditorAuthMethod', description: 'How the editor is connected.' }),
    needs_reauth: z.boolean().describe('Whether the user must connect the editor again.'),
    reauth_reason: z
      .enum(reauthReasons)
      .optional()
      .describe(
        'Why the user must connect again. `token_expired`: the pair ran out. `token_revoked`: the provider took it ' +
          'back. `refresh_failed`: the provider gave no new pair. `credential_unreadable`: the key that the pair ' +
          'lies under is not configured.',
      ),
  })
  .meta({
    id: 'EditorAuthStatus',
    description:
      'The state of the credential, never the credential itself. `reauth_reason` is there only while ' +
      '`needs_reauth` is true.',
  });

const SECRECY = 'Never returned and never logged.';

/** The credential of the coding editor. */
export const editorAuth = [
  route({
    method: 'put',
    path: '/editor/auth/subscription',
    field: 'storeEditorSubscription',
    tag: 'Editor auth',
    summary: 'Store editor subscription auth',
    description:
      'Stores a pair of tokens, encrypted, in place of the one before, and clears `needs_reauth`. What is wrong with ' +
      'a token is told without it: `value` is `[redacted]`.',
    body: z
      .strictObject({
        accessToken: secret().describe(`The access token. ${SECRECY}`),
        refreshToken: secret().describe(`The refresh token. ${SECRECY}`),
      })
      .meta({ id: 'EditorSubscription', description: "The pair of tokens of an editor's subscription." }),
    bind: { input: { accessToken: body('accessToken'), refreshToken: body('refreshToken') } },
    reply: { status: 200, from: 'editorAuth', shape: status, description: 'The status, as it is now.' },
  }),
  route({
    method: 'get',
    path: '/editor/auth',
    field: 'editorAuth',
    tag: 'Editor auth',
    summary: 'Get editor auth status',
    description: 'Tells how the editor is connected, and whether the user must connect it again.',
    bind: {},
    reply: { status: 200, shape: status, description: 'The status.' },
  }),
  route({
    method: 'delete',
    path: '/editor/auth',
    field: 'deleteEditorAuth',
    tag: 'Editor auth',
    isExtension: true,
    summary: 'Delete editor auth',
    description: 'Wipes the stored pair. It is no error that nothing is stored.',
    bind: {},
    reply: { status: 204, from: 'editorAuth', shape: status, description: 'Nothing is stored any more.' },
  }),
];
