import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { audit } from '../log.ts';
import { CredentialFailureReasonEnum, EditorAuthRef, ReauthReasonEnum } from './editor-auth.graphql.ts';
import { type Credential, type EditorAuth, reportFailure } from './editor-auth.ts';
import { readCredential } from './read-credentials.ts';

const EditorCredential = builder.objectRef<Credential>('EditorCredential').implement({
  description: 'A decrypted token pair.',
  fields: (t) => ({
    version: t.exposeID('version', {
      description: 'The version of the token pair: an opaque ID, new for each stored pair and never reused.',
    }),
    accessToken: t.expose('accessToken', { type: 'Secret', description: 'The access token.' }),
    refreshToken: t.expose('refreshToken', {
      type: 'Secret',
      nullable: true,
      description: 'The refresh token. `null` if there is none; the token pair then cannot be refreshed.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Timestamp at which the access token expires, as it was stored. `null` if unknown.',
    }),
    needsReauth: t.boolean({
      description:
        'Whether the platform reported a failure and the user must connect the editor again. Do not refresh such a token pair.',
      resolve: ({ reauthReason }) => reauthReason !== null,
    }),
    reauthReason: t.expose('reauthReason', {
      type: ReauthReasonEnum,
      nullable: true,
      description: 'The reported reason. `null` unless `needsReauth` is `true`.',
    }),
  }),
});

builder.queryField('editorCredential', (t) =>
  t.field({
    access: platform('platform:credentials'),
    type: EditorCredential,
    nullable: true,
    description:
      "Returns a user's decrypted token pair, or `null` if none is stored. Every read is written to the audit log.",
    args: { userId: t.arg.id({ required: true, description: "The user's ID." }) },
    resolve: async (_root, { userId }, { database, cipher, viewer, log }) => {
      audit(log, 'editor_credential.read', viewer.userId, userId);
      return readCredential(database, cipher, userId);
    },
  }),
);

const ReportEditorAuthFailureInput = builder.inputType('ReportEditorAuthFailureInput', {
  description: 'The failure of a token pair.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    version: t.id({ required: true, description: 'The version of the token pair.' }),
    reason: t.field({
      type: CredentialFailureReasonEnum,
      required: true,
      description: 'The reason why the token pair no longer works.',
    }),
  }),
});

const ReportEditorAuthFailurePayload = builder
  .objectRef<{ applied: boolean; editorAuth: EditorAuth }>('ReportEditorAuthFailurePayload')
  .implement({
    description: 'Result of reporting a failure.',
    fields: (t) => ({
      applied: t.exposeBoolean('applied', {
        description: '`false` if `version` is no longer current. In that case nothing changed.',
      }),
      editorAuth: t.expose('editorAuth', { type: EditorAuthRef, description: 'The current status.' }),
    }),
  });

builder.mutationField('reportEditorAuthFailure', (t) =>
  t.field({
    access: platform('platform:credentials'),
    type: ReportEditorAuthFailurePayload,
    nullable: true,
    description:
      'Reports that a token pair no longer works, so that the user is asked to connect the editor again. Report only permanent failures.',
    args: {
      input: t.arg({
        type: ReportEditorAuthFailureInput,
        required: true,
        description: 'The failure to report.',
      }),
    },
    resolve: (_root, { input }, context) => reportFailure(context, context.cipher, input),
  }),
);
