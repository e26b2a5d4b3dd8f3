import { platform } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { audit } from '../log.ts';
import { CLAIM_SECONDS } from './credential-changes.ts';
import { expiryDescription } from './editor-auth.graphql.ts';
import { claimRefresh, type RefreshClaim, storeRefreshedCredential } from './refresh-credential.ts';

const ClaimEditorCredentialRefreshInput = builder.inputType('ClaimEditorCredentialRefreshInput', {
  description: 'The token pair that the caller is about to refresh.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    version: t.id({
      required: true,
      description:
        'The version of the token pair. If it is no longer current, the call fails with `CONFLICT`.',
    }),
    claimId: t.id({
      required: true,
      description:
        'The ID of the claim, such as a UUID that the caller generates for this refresh. It makes retries safe: a call with the same ID renews the claim.',
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
        description: `Timestamp at which the current claim ends: the caller's if \`granted\` is \`true\`, otherwise another caller's. It is ${CLAIM_SECONDS} seconds after the claim was granted or renewed. Storing, refreshing or deleting the token pair ends the claim earlier.`,
      }),
    }),
  });

builder.mutationField('claimEditorCredentialRefresh', (t) =>
  t.field({
    access: platform('platform:credentials'),
    type: ClaimEditorCredentialRefreshPayload,
    nullable: true,
    description: `Claims the refresh of a token pair for ${CLAIM_SECONDS} seconds, so that only one caller refreshes it. Fails with \`NOT_FOUND\` if no pair is stored, and with \`CONFLICT\` if the pair has no refresh token. Refreshing does not require a claim.`,
    args: {
      input: t.arg({
        type: ClaimEditorCredentialRefreshInput,
        required: true,
        description: 'The refresh to claim.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      const { cipher, viewer, log } = context;
      const claim = await claimRefresh(context, cipher, input);
      if (claim.granted) audit(log, 'editor_credential.claimed', viewer.userId, input.userId);
      return claim;
    },
  }),
);

const RefreshEditorCredentialInput = builder.inputType('RefreshEditorCredentialInput', {
  description: 'A refreshed token pair.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    version: t.id({ required: true, description: 'The version of the token pair that was refreshed.' }),
    accessToken: t.field({ type: 'Secret', required: true, description: 'The access token.' }),
    refreshToken: t.field({
      type: 'Secret',
      description:
        'The refresh token. `null` if the new pair cannot be refreshed. If the provider returned none because the previous one stays valid, send the previous one.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: expiryDescription }),
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

builder.mutationField('refreshEditorCredential', (t) =>
  t.field({
    access: platform('platform:credentials'),
    type: RefreshEditorCredentialPayload,
    nullable: true,
    description:
      'Stores a refreshed token pair if `version` is still current, and otherwise fails with `CONFLICT`. A retry with the same input returns the same version, until the token pair changes again.',
    args: {
      input: t.arg({
        type: RefreshEditorCredentialInput,
        required: true,
        description: 'The refreshed token pair.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      const { cipher, viewer, log } = context;
      const { refreshToken = null, expiresAt = null } = input;
      const refreshed = { ...input, refreshToken, expiresAt };
      const version = await storeRefreshedCredential(context, cipher, refreshed);
      audit(log, 'editor_credential.refreshed', viewer.userId, input.userId);
      return { version };
    },
  }),
);
