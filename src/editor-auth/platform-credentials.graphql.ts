import { platformRead } from '../auth/access.ts';
import { builder, toEnumValues } from '../graphql/builder.ts';
import {
  defineConnectionType,
  describeCount,
  readConnectionAcrossUsers,
  shortPageNote,
} from '../graphql/connection.ts';
import { defineForwardArguments } from '../graphql/page-arguments.ts';
import { Platform } from '../graphql/platform.ts';
import { defineSingletonRef } from '../graphql/record-ref.ts';
import { maxItems } from '../graphql/rules.ts';
import { isId } from '../values/text.ts';
import {
  countAllCredentials,
  type ListedCredential,
  listAllCredentials,
  MAX_CHECKED,
} from './all-credentials.ts';
import { credentialStates } from './editor-auth.enums.ts';
import { ReauthReasonEnum } from './editor-auth.graphql.ts';

/** Exported for the statistics. */
export const CredentialStateEnum = builder.enumType('EditorCredentialState', {
  description: 'The state of a stored token pair.',
  values: toEnumValues(credentialStates, {
    connected: 'No failure was reported.',
    needs_reauth: 'The platform reported a failure, and the user must connect the editor again.',
    unreadable: 'The key that encrypted the token pair is not configured.',
  }),
});

const PlatformEditorCredential = builder.objectRef<ListedCredential>('PlatformEditorCredential').implement({
  description: 'The state of a stored token pair of a user. It never includes the token pair.',
  fields: (t) => ({
    ref: t.field(defineSingletonRef<ListedCredential>('PlatformEditorCredential')),
    userId: t.exposeID('userId', { description: "The user's ID." }),
    state: t.expose('state', { type: CredentialStateEnum, description: 'The state.' }),
    reauthReason: t.expose('reauthReason', {
      type: ReauthReasonEnum,
      nullable: true,
      description:
        'The reason why the user must connect the editor again. `null` if the state is `CONNECTED`.',
    }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'Timestamp at which the token pair was stored or its failure was reported.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Timestamp at which the access token expires. `null` if unknown.',
    }),
  }),
});

const PlatformEditorCredentialConnection = defineConnectionType('PlatformEditorCredential', {
  node: PlatformEditorCredential,
  record: 'token pair',
  acrossUsers: { totalCount: describeCount('token pairs', MAX_CHECKED) },
});

const PlatformEditorCredentialFilter = builder.inputType('PlatformEditorCredentialFilter', {
  description: 'A filter of stored token pairs of all users.',
  fields: (t) => ({
    states: t.field({
      type: [CredentialStateEnum],
      description: 'Filter by state. Defaults to all states. An empty list selects none.',
      validate: maxItems(100),
    }),
    expiresBefore: t.field({
      type: 'DateTime',
      description: 'Selects only token pairs whose access token expires before this timestamp.',
    }),
  }),
});

builder.objectField(Platform, 'editorCredentials', (t) =>
  t.field({
    access: platformRead,
    type: PlatformEditorCredentialConnection,
    nullable: true,
    description: `Returns the state of the stored token pairs of all users, starting with the users who connected an editor last. ${shortPageNote}`,
    args: {
      ...defineForwardArguments(),
      filter: t.arg({ type: PlatformEditorCredentialFilter, description: 'Defaults to all token pairs.' }),
    },
    resolve: (_platform, { filter: given, ...page }, { database, cipher }) => {
      const filter = given ?? {};
      return readConnectionAcrossUsers<ListedCredential>(page, {
        readRecords: (page) => listAllCredentials(database, cipher, filter, page),
        totalCount: () => countAllCredentials(database, cipher, filter),
        isId,
      });
    },
  }),
);
