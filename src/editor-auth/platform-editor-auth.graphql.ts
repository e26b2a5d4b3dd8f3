import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { audit } from '../log.ts';
import { CLAIM_SECONDS } from './credential-statements.ts';
import { EditorAuthType, FailureReasonEnum, ReauthReasonEnum } from './editor-auth.graphql.ts';
import { type Credential, type EditorAuth, readCredential, reportFailure } from './editor-auth.ts';
import { claimRefresh, type RefreshClaim, refreshCredential } from './refresh-credential.ts';

const EditorCredential = builder.objectRef<Credential>('EditorCredential').implement({
  description: 'A decrypted pair of tokens.',
  fields: (t) => ({
    version: t.exposeID('version', {
      description: 'The opaque ID of this pair, new whenever a pair is stored. A refresh must name it.',
    }),
    accessToken: t.expose('accessToken', { type: 'Secret', description: 'The access token.' }),
    refreshToken: t.expose('refreshToken', { type: 'Secret', description: 'The refresh token.' }),
    needsReauth: t.boolean({
      description:
        'Whether the pair was reported as failed, so that its user must connect again and it should not be refreshed.',
      resolve: ({ reauthReason }) => reauthReason !== null,
    }),
    reauthReason: t.expose('reauthReason', {
      type: ReauthReasonEnum,
      nullable: true,
      description: 'The reported reason; null while `needsReauth` is false.',
    }),
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

const ClaimEditorCredentialRefreshInput = builder.inputType('ClaimEditorCredentialRefreshInput', {
  description: 'A pair that the caller is about to refresh.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    version: t.id({ required: true, description: 'The version of the pair.' }),
    claimId: t.id({
      required: true,
      description:
        "An ID that the caller generates for this refresh, such as a UUID. Sending it again after a lost reply returns the caller's claim.",
    }),
  }),
});

const ClaimEditorCredentialRefreshPayload = builder
  .objectRef<RefreshClaim>('ClaimEditorCredentialRefreshPayload')
  .implement({
    description: 'Whether the caller may refresh the pair.',
    fields: (t) => ({
      granted: t.exposeBoolean('granted', {
        description: '`false` while another claim ID has the claim.',
      }),
      claimedUntil: t.expose('claimedUntil', {
        type: 'DateTime',
        description: "The end of the claim: the caller's if `granted`, otherwise the other caller's.",
      }),
    }),
  });

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
  claimEditorCredentialRefresh: t.field({
    access: platform('platform:credentials'),
    type: ClaimEditorCredentialRefreshPayload,
    nullable: true,
    description: `Gives one caller the right to refresh a pair, for ${CLAIM_SECONDS} seconds. The same \`claimId\` gets it again, for another ${CLAIM_SECONDS} seconds; others are not granted it until it ends. Storing, refreshing and deleting the pair end the claim. A version that is no longer current is a \`CONFLICT\`, a user without a pair \`NOT_FOUND\`. Refreshing without a claim is allowed.`,
    args: {
      input: t.arg({ type: ClaimEditorCredentialRefreshInput, required: true, description: 'The claim.' }),
    },
    resolve: async (_root, { input }, { em, viewer, log }) => {
      const claim = await claimRefresh(em, input, input.claimId);
      if (claim.granted) audit(log, 'editor_credential.claimed', viewer.userId, input.userId);
      return claim;
    },
  }),
  refreshEditorCredential: t.field({
    access: platform('platform:credentials'),
    type: RefreshEditorCredentialPayload,
    nullable: true,
    description:
      'Stores a refreshed pair if `version` is still current; otherwise it is a `CONFLICT`. The same refresh sent again, before another change, returns the version that it stored.',
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
