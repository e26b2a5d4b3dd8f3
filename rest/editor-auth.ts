import { z } from 'zod';
import { editorAuthMethodTypes, reauthReasons } from '../src/editor-auth/editor-auth.enums.ts';
import {
  deleteEditorAuthField,
  editorAuthField,
  storeEditorSubscriptionField,
} from '../src/editor-auth/editor-auth.graphql.ts';
import { body, type Route } from './route.ts';
import { secret, secretOrEmpty } from './wire.ts';

/** The editor integration auth status of the specification. */
const status = z
  .strictObject({
    auth: z
      .strictObject({
        type: z
          .enum(editorAuthMethodTypes)
          .describe(
            'The type of the method. `none`: no token pair is stored. `subscription`: a token pair is stored.',
          ),
      })
      .meta({ id: 'EditorAuthMethod', description: 'The method by which an editor is connected.' }),
    needs_reauth: z.boolean().describe('Whether the user must connect the editor again.'),
    reauth_reason: z
      .enum(reauthReasons)
      .optional()
      .describe(
        'The reason why the user must connect the editor again. `token_expired`: the token pair expired. ' +
          '`token_revoked`: the provider revoked the token pair. `refresh_failed`: the provider issued no new token ' +
          'pair. `credential_unreadable`: the key that encrypted the token pair is not configured. Omitted unless ' +
          '`needs_reauth` is `true`.',
      ),
  })
  .meta({
    id: 'EditorAuthStatus',
    description: "The status of a user's editor connection. It never includes the token pair.",
  });

const SECRECY = 'The REST API never returns it, and it is never logged.';

/** The connection of the coding editor. */
export const editorAuth: readonly Route[] = [
  {
    method: 'put',
    path: '/editor/auth/subscription',
    field: storeEditorSubscriptionField,
    tag: 'Editor auth',
    summary: 'Store editor subscription auth',
    description:
      'Encrypts and stores a token pair, replacing the previous one, and clears `needs_reauth`. In errors, the `value` ' +
      'of a token is `[redacted]`.',
    body: z
      .strictObject({
        accessToken: secret().describe(`The access token. ${SECRECY}`),
        refreshToken: secretOrEmpty(`The refresh token. An empty string if there is none. ${SECRECY}`),
      })
      .meta({ id: 'EditorSubscription', description: "The token pair of a user's editor subscription." }),
    bind: { input: { accessToken: body('accessToken'), refreshToken: body('refreshToken') } },
    reply: { from: 'editorAuth', shape: status, description: 'The new status of the editor connection.' },
  },
  {
    method: 'get',
    path: '/editor/auth',
    field: editorAuthField,
    tag: 'Editor auth',
    summary: 'Get editor auth status',
    description: "Returns the status of the caller's editor connection.",
    bind: {},
    reply: { shape: status, description: 'The status of the editor connection.' },
  },
  {
    method: 'delete',
    path: '/editor/auth',
    field: deleteEditorAuthField,
    tag: 'Editor auth',
    isExtension: true,
    summary: 'Delete editor auth',
    description: 'Deletes the stored token pair. Succeeds even if none is stored.',
    bind: {},
    reply: {
      status: 204,
      from: 'editorAuth',
      shape: status,
      description: 'The token pair was deleted, or none was stored.',
    },
  },
];
