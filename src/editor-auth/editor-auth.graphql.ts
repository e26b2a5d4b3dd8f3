import { memberRead, memberStream, memberWrite } from '../auth/access.ts';
import { builder, toEnumValues, userArgument } from '../graphql/builder.ts';
import { defineSingletonRef } from '../graphql/record-ref.ts';
import { createSourceReader } from '../live/source.ts';
import { openStream } from '../live/stream.ts';
import { audit } from '../log.ts';
import { UserRef } from '../users/user.graphql.ts';
import { credentialFailureReasons, editorAuthMethodTypes, reauthReasons } from './editor-auth.enums.ts';
import {
  createEditorAuthSource,
  deleteCredential,
  type EditorAuth,
  type EditorAuthEvent,
  readEditorAuth,
  storeCredential,
} from './editor-auth.ts';
import { readEditorAuthTogether } from './read-credentials.ts';

const EditorAuthMethodTypeEnum = builder.enumType('EditorAuthType', {
  description: 'The type of the method by which an editor is connected.',
  values: toEnumValues(editorAuthMethodTypes, {
    none: 'No token pair is stored.',
    subscription: 'A token pair is stored.',
  }),
});

const reasons = {
  token_expired: 'The token pair expired.',
  token_revoked: 'The provider revoked the token pair.',
  refresh_failed: 'The provider issued no new token pair.',
};

/** The reasons that the platform reports. */
export const CredentialFailureReasonEnum = builder.enumType('EditorAuthFailureReason', {
  description: 'The reason why a token pair no longer works.',
  values: toEnumValues(credentialFailureReasons, reasons),
});

/** The reasons why a user must connect the editor again. */
export const ReauthReasonEnum = builder.enumType('ReauthReason', {
  description: 'The reason why the user must connect the editor again.',
  values: toEnumValues(reauthReasons, {
    ...reasons,
    credential_unreadable: 'The key that encrypted the token pair is not configured.',
  }),
});

const EditorAuthMethod = builder.objectRef<EditorAuth>('EditorAuthMethod').implement({
  description: 'The method by which an editor is connected.',
  fields: (t) => ({
    type: t.expose('type', { type: EditorAuthMethodTypeEnum, description: 'The type of the method.' }),
  }),
});

/** The status of an editor connection, without the token pair. */
export const EditorAuthRef = builder.objectRef<EditorAuth>('EditorAuth').implement({
  description: "The status of a user's editor connection. It never includes the token pair.",
  fields: (t) => ({
    userId: t.exposeID('userId', { description: "The user's ID." }),
    ref: t.field(defineSingletonRef<EditorAuth>('EditorAuth')),
    auth: t.field({
      type: EditorAuthMethod,
      description: 'The method by which the editor is connected.',
      resolve: (state) => state,
    }),
    needsReauth: t.exposeBoolean('needsReauth', {
      description: 'Whether the user must connect the editor again.',
    }),
    reauthReason: t.expose('reauthReason', {
      type: ReauthReasonEnum,
      nullable: true,
      description:
        'The reason why the user must connect the editor again. `null` unless `needsReauth` is `true`.',
    }),
  }),
});

export const editorAuthField = 'editorAuth';

builder.queryField(editorAuthField, (t) =>
  t.field({
    access: memberRead,
    type: EditorAuthRef,
    nullable: true,
    description: "Returns the status of the caller's editor connection.",
    resolve: (_root, _args, { database, cipher, viewer }) => readEditorAuth(database, cipher, viewer.userId),
  }),
);

builder.objectField(UserRef, editorAuthField, (t) =>
  t.field({
    access: memberRead,
    type: EditorAuthRef,
    nullable: true,
    description: "The status of the user's editor connection.",
    resolve: ({ userId }, _args, { database, cipher }) => readEditorAuthTogether(database, cipher, userId),
  }),
);

/** The description of the expiry of a pair to store. */
export const expiryDescription =
  'Timestamp at which the access token expires, if known. Replaces the stored one, also if it is omitted.';

const StoreEditorSubscriptionInput = builder.inputType('StoreEditorSubscriptionInput', {
  description: "The token pair of a user's editor subscription.",
  fields: (t) => ({
    accessToken: t.field({ type: 'Secret', required: true, description: 'The access token.' }),
    refreshToken: t.field({
      type: 'Secret',
      description: 'The refresh token. `null` if there is none, such as for a long-lived access token.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: expiryDescription }),
  }),
});

const StoreEditorSubscriptionPayload = builder
  .objectRef<{ editorAuth: EditorAuth }>('StoreEditorSubscriptionPayload')
  .implement({
    description: 'Result of storing a token pair.',
    fields: (t) => ({
      editorAuth: t.expose('editorAuth', { type: EditorAuthRef, description: 'The new status.' }),
    }),
  });

export const storeEditorSubscriptionField = 'storeEditorSubscription';

builder.mutationField(storeEditorSubscriptionField, (t) =>
  t.field({
    access: memberWrite,
    type: StoreEditorSubscriptionPayload,
    nullable: true,
    description: 'Stores a token pair, replacing the previous one, and clears `needsReauth`.',
    args: {
      input: t.arg({
        type: StoreEditorSubscriptionInput,
        required: true,
        description: 'The token pair to store.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      const { cipher, viewer, log } = context;
      const { accessToken, refreshToken = null, expiresAt = null } = input;
      const pair = { accessToken, refreshToken, expiresAt };
      const editorAuth = await storeCredential(context, cipher, viewer.userId, pair);
      audit(log, 'editor_credential.stored', viewer.userId, viewer.userId);
      return { editorAuth };
    },
  }),
);

const DeleteEditorAuthPayload = builder
  .objectRef<{ editorAuth: EditorAuth }>('DeleteEditorAuthPayload')
  .implement({
    description: 'Result of deleting a token pair.',
    fields: (t) => ({
      editorAuth: t.expose('editorAuth', { type: EditorAuthRef, description: 'The new status.' }),
    }),
  });

export const deleteEditorAuthField = 'deleteEditorAuth';

builder.mutationField(deleteEditorAuthField, (t) =>
  t.field({
    access: memberWrite,
    type: DeleteEditorAuthPayload,
    nullable: true,
    description: 'Deletes the stored token pair. Succeeds even if none is stored.',
    resolve: async (_root, _args, context) => {
      const { cipher, viewer, log } = context;
      const editorAuth = await deleteCredential(context, cipher, viewer.userId);
      audit(log, 'editor_credential.deleted', viewer.userId, viewer.userId);
      return { editorAuth };
    },
  }),
);

export const EditorAuthEventType = builder.objectRef<EditorAuthEvent>('EditorAuthEvent').implement({
  description: 'A change of an editor connection.',
  fields: (t) => ({
    editorAuth: t.expose('editorAuth', { type: EditorAuthRef, description: 'The current status.' }),
  }),
});

builder.subscriptionField('editorAuthEvents', (t) =>
  t.field({
    access: memberStream,
    type: EditorAuthEventType,
    description:
      "Delivers the current status of a user's editor connection, then each new status. Intermediate ones may be skipped. The stream ends when the token expires.",
    args: { userId: t.arg.id(userArgument) },
    subscribe: (_root, { userId }, context) => {
      const { database, cipher, viewer } = context;
      const user = userId ?? viewer.userId;
      return openStream(
        context,
        createSourceReader(database, user, createEditorAuthSource(database, cipher, user)),
      );
    },
    resolve: (event) => event,
  }),
);
