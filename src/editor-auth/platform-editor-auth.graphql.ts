import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { audit } from '../log.ts';
import { CLAIM_SECONDS } from './credential-statements.ts';
import { EditorAuthType, FailureReasonEnum, ReauthReasonEnum } from './editor-auth.graphql.ts';
import { type Credential, type EditorAuth, readCredential, reportFailure } from './editor-auth.ts';
import { claimRefresh, type RefreshClaim, refreshCredential } from './refresh-credential.ts';

const EditorCredential = builder.objectRef<Credential>('EditorCredential').implement({
  description: 'A decrypted token pair.',
  fields: (t) => ({
    version: t.exposeID('version', {
      description: 'The version of the token pair: an opaque ID, new for each stored pair and never reused.',
    }),
    accessToken: t.expose('accessToken', { type: 'Secret', description: 'The access token.' }),
    refreshToken: t.expose('refreshToken', { type: 'Secret', description: 'The refresh token.' }),
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
    resolve: async (_root, { userId }, { em, cipher, viewer, log }) => {
      audit(log, 'editor_credential.read', viewer.userId, userId);
      return readCredential(em, cipher, userId);
    },
  }),
);

const ClaimEditorCredentialRefreshInput = builder.inputType('ClaimEditorCredentialRefreshInput', {
  description: 'The token pair that the caller is about to refresh.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    version: t.id({ required: true, description: 'The version of the token pair.' }),
    claimId: t.id({
      required: true,
      description:
        'The ID of the claim, such as a UUID that the caller generates for this refresh. It makes retries safe.',
    }),
  }),
});

const ClaimEditorCredentialRefreshPayload = builder
  .objectRef<RefreshClaim>('ClaimEditorCredentialRefreshPayload')
  .implement({
    description: 'Result of claiming the refresh of a token pair.',
    fields: (t) => ({
      granted: t.exposeBoolean('granted', {
        description:
          'Whether the caller may refresh the token pair. `false` while a claim with another ID is active.',
      }),
      claimedUntil: t.expose('claimedUntil', {
        type: 'DateTime',
        description:
          "Timestamp at which the current claim ends. It is the caller's claim if `granted` is `true`.",
      }),
    }),
  });

const RefreshEditorCredentialInput = builder.inputType('RefreshEditorCredentialInput', {
  description: 'A refreshed token pair.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    version: t.id({ required: true, description: 'The version of the token pair that was refreshed.' }),
    accessToken: t.field({ type: 'Secret', required: true, description: 'The access token.' }),
    refreshToken: t.field({ type: 'Secret', required: true, description: 'The refresh token.' }),
  }),
});

const RefreshEditorCredentialPayload = builder
  .objectRef<{ version: string }>('RefreshEditorCredentialPayload')
  .implement({
    description: 'Result of storing a refreshed token pair.',
    fields: (t) => ({
      version: t.exposeID('version', { description: 'The version of the stored token pair.' }),
    }),
  });

const ReportEditorAuthFailureInput = builder.inputType('ReportEditorAuthFailureInput', {
  description: 'The failure of a token pair.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    version: t.id({ required: true, description: 'The version of the token pair.' }),
    reason: t.field({
      type: FailureReasonEnum,
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
      editorAuth: t.expose('editorAuth', { type: EditorAuthType, description: 'The current status.' }),
    }),
  });

builder.mutationFields((t) => ({
  claimEditorCredentialRefresh: t.field({
    access: platform('platform:credentials'),
    type: ClaimEditorCredentialRefreshPayload,
    nullable: true,
    description: `Claims the refresh of a token pair for ${CLAIM_SECONDS} seconds, so that only one caller refreshes it. A call with the same \`claimId\` renews the claim for another ${CLAIM_SECONDS} seconds. Storing, refreshing or deleting the pair ends the claim. Fails with \`CONFLICT\` if \`version\` is no longer current, and with \`NOT_FOUND\` if no pair is stored. Refreshing does not require a claim.`,
    args: {
      input: t.arg({
        type: ClaimEditorCredentialRefreshInput,
        required: true,
        description: 'The refresh to claim.',
      }),
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
      'Stores a refreshed token pair if `version` is still current, and otherwise fails with `CONFLICT`. A retry with the same input returns the version that it stored, until the token pair changes again.',
    args: {
      input: t.arg({
        type: RefreshEditorCredentialInput,
        required: true,
        description: 'The refreshed token pair.',
      }),
    },
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
    description:
      'Reports that a token pair no longer works, so that the user is asked to connect the editor again. Report only permanent failures.',
    args: {
      input: t.arg({
        type: ReportEditorAuthFailureInput,
        required: true,
        description: 'The failure to report.',
      }),
    },
    resolve: (_root, { input }, context) => reportFailure(context, context.cipher, input, context.now),
  }),
}));
