import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { audit } from '../log.ts';
import { EditorAuthType, FailureReasonEnum } from './editor-auth.graphql.ts';
import {
  type EditorAuth,
  readCredential,
  refreshCredential,
  reportFailure,
  type VersionedPair,
} from './editor-auth.ts';

const EditorCredential = builder.objectRef<VersionedPair>('EditorCredential').implement({
  description: 'A decrypted pair of tokens.',
  fields: (t) => ({
    version: t.exposeID('version', {
      description: 'The opaque ID of this pair, new whenever a pair is stored. A refresh must name it.',
    }),
    accessToken: t.expose('accessToken', { type: 'Secret', description: 'The access token.' }),
    refreshToken: t.expose('refreshToken', { type: 'Secret', description: 'The refresh token.' }),
  }),
});

builder.queryField('editorCredential', (t) =>
  t.field({
    access: platform('platform:credentials'),
    type: EditorCredential,
    nullable: true,
    description:
      "A user's pair, decrypted; null where none is stored. Every read is written to the audit log.",
    args: { userId: t.arg.id({ required: true, description: 'Whose pair.' }) },
    resolve: async (_root, { userId }, { em, cipher, viewer, log }) => {
      audit(log, 'editor_credential.read', viewer.userId, userId);
      return readCredential(em, cipher, userId);
    },
  }),
);

const RefreshEditorCredentialInput = builder.inputType('RefreshEditorCredentialInput', {
  description: 'A refreshed pair.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'Whose pair.' }),
    version: t.id({ required: true, description: 'The version of the pair it was refreshed from.' }),
    accessToken: t.field({ type: 'Secret', required: true, description: 'The access token.' }),
    refreshToken: t.field({ type: 'Secret', required: true, description: 'The refresh token.' }),
  }),
});

const RefreshEditorCredentialPayload = builder
  .objectRef<{ version: string }>('RefreshEditorCredentialPayload')
  .implement({
    description: 'What became of a refreshed pair.',
    fields: (t) => ({ version: t.exposeID('version', { description: 'The version it is stored under.' }) }),
  });

const ReportEditorAuthFailureInput = builder.inputType('ReportEditorAuthFailureInput', {
  description: 'A pair that no longer works for good.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'Whose pair.' }),
    version: t.id({ required: true, description: 'The version of the pair.' }),
    reason: t.field({ type: FailureReasonEnum, required: true, description: 'Why.' }),
  }),
});

const ReportEditorAuthFailurePayload = builder
  .objectRef<{ applied: boolean; editorAuth: EditorAuth }>('ReportEditorAuthFailurePayload')
  .implement({
    description: 'What became of a report.',
    fields: (t) => ({
      applied: t.exposeBoolean('applied', {
        description: 'False where the version is no longer the current one; then nothing changed.',
      }),
      editorAuth: t.expose('editorAuth', { type: EditorAuthType, description: 'As it is now.' }),
    }),
  });

builder.mutationFields((t) => ({
  refreshEditorCredential: t.field({
    access: platform('platform:credentials'),
    type: RefreshEditorCredentialPayload,
    nullable: true,
    description:
      'Stores a refreshed pair if `version` is still current. The same pair again returns its version; anything else is a `CONFLICT`.',
    args: { input: t.arg({ type: RefreshEditorCredentialInput, required: true, description: 'The pair.' }) },
    resolve: async (_root, { input }, context) => {
      const { cipher, viewer, now, log } = context;
      const version = await refreshCredential(context, cipher, input, input, now);
      audit(log, 'editor_credential.refreshed', viewer.userId, input.userId);
      return { version };
    },
  }),
  reportEditorAuthFailure: t.field({
    access: platform('platform:write'),
    type: ReportEditorAuthFailurePayload,
    nullable: true,
    description: 'Tells that a pair failed for good, so that its user is asked to connect again.',
    args: {
      input: t.arg({ type: ReportEditorAuthFailureInput, required: true, description: 'The failure.' }),
    },
    resolve: (_root, { input }, context) => reportFailure(context, context.cipher, input, context.now),
  }),
}));
