import { memberRead, memberWrite } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { enumValues } from '../graphql/enum-values.ts';
import { userArgument } from '../graphql/user-argument.ts';
import { openStream } from '../live/stream.ts';
import { audit } from '../log.ts';
import { editorAuthTypes, failureReasons, reauthReasons } from './editor-auth.enums.ts';
import { deleteCredential, type EditorAuth, readEditorAuth, storeSubscription } from './editor-auth.ts';
import { type EditorAuthEvent, watchEditorAuth } from './editor-auth-events.ts';

const EditorAuthTypeEnum = builder.enumType('EditorAuthType', {
  description: 'How an editor is connected.',
  values: enumValues(editorAuthTypes, { none: 'Not at all.', subscription: 'By a subscription.' }),
});

const reasons = {
  token_expired: 'The pair ran out.',
  token_revoked: 'The provider took the pair back.',
  refresh_failed: 'The provider gave no new pair.',
};

/** Why a pair failed, as the platform reports it. */
export const FailureReasonEnum = builder.enumType('EditorAuthFailureReason', {
  description: 'Why a pair no longer works for good.',
  values: enumValues(failureReasons, reasons),
});

/** Why a user must connect again. */
export const ReauthReasonEnum = builder.enumType('ReauthReason', {
  description: 'Why the user must connect again.',
  values: enumValues(reauthReasons, {
    ...reasons,
    credential_unreadable: 'The key that the pair lies under is not configured.',
  }),
});

const EditorAuthMethod = builder.objectRef<EditorAuth>('EditorAuthMethod').implement({
  description: 'How an editor is connected.',
  fields: (t) => ({
    type: t.expose('type', { type: EditorAuthTypeEnum, description: 'By what.' }),
  }),
});

/** The account's view of its credential. */
export const EditorAuthType = builder.objectRef<EditorAuth>('EditorAuth').implement({
  description: "The state of a user's editor credential; never the credential itself.",
  fields: (t) => ({
    userId: t.exposeID('userId', { description: 'The user who owns the credential.' }),
    auth: t.field({
      type: EditorAuthMethod,
      description: 'How the editor is connected.',
      resolve: (state) => state,
    }),
    needsReauth: t.exposeBoolean('needsReauth', { description: 'Whether the user must connect again.' }),
    reauthReason: t.expose('reauthReason', {
      type: ReauthReasonEnum,
      nullable: true,
      description: 'Why; null while there is no need.',
    }),
  }),
});

builder.queryField('editorAuth', (t) =>
  t.field({
    access: memberRead,
    type: EditorAuthType,
    nullable: true,
    description: "The state of a user's editor credential.",
    args: { userId: t.arg.id(userArgument) },
    resolve: (_root, { userId }, { em, cipher, viewer }) =>
      readEditorAuth(em, cipher, userId ?? viewer.userId),
  }),
);

const StoreEditorSubscriptionInput = builder.inputType('StoreEditorSubscriptionInput', {
  description: "The pair of tokens that an editor's subscription is used with.",
  fields: (t) => ({
    accessToken: t.field({ type: 'Secret', required: true, description: 'The access token.' }),
    refreshToken: t.field({ type: 'Secret', required: true, description: 'The refresh token.' }),
  }),
});

const EditorAuthPayload = builder.objectRef<{ editorAuth: EditorAuth }>('EditorAuthPayload').implement({
  description: 'The state after a change.',
  fields: (t) => ({
    editorAuth: t.expose('editorAuth', { type: EditorAuthType, description: 'As it is now.' }),
  }),
});

builder.mutationFields((t) => ({
  storeEditorSubscription: t.field({
    access: memberWrite,
    type: EditorAuthPayload,
    nullable: true,
    description: 'Stores a pair in place of the one before.',
    args: { input: t.arg({ type: StoreEditorSubscriptionInput, required: true, description: 'The pair.' }) },
    resolve: async (_root, { input }, context) => {
      const { cipher, viewer, now, log } = context;
      const editorAuth = await storeSubscription(context, cipher, viewer.userId, input, now);
      audit(log, 'editor_credential.stored', viewer.userId, viewer.userId);
      return { editorAuth };
    },
  }),
  deleteEditorAuth: t.field({
    access: memberWrite,
    type: EditorAuthPayload,
    nullable: true,
    description: 'Wipes the pair; nothing stored is no error.',
    resolve: async (_root, _args, context) => {
      const { viewer, now, log } = context;
      const editorAuth = await deleteCredential(context, viewer.userId, now);
      audit(log, 'editor_credential.deleted', viewer.userId, viewer.userId);
      return { editorAuth };
    },
  }),
}));

const EditorAuthEventType = builder.objectRef<EditorAuthEvent>('EditorAuthEvent').implement({
  description: 'A change of an editor credential.',
  fields: (t) => ({
    editorAuth: t.expose('editorAuth', { type: EditorAuthType, description: 'The current state.' }),
  }),
});

builder.subscriptionField('editorAuthEvents', (t) =>
  t.field({
    access: memberRead,
    type: EditorAuthEventType,
    description: "The state of a user's editor credential, then each change. It ends when the token expires.",
    args: { userId: t.arg.id(userArgument) },
    subscribe: (_root, { userId }, context) => {
      const { em, cipher, viewer } = context;
      return openStream(context, watchEditorAuth(em, cipher, userId ?? viewer.userId));
    },
    resolve: (event) => event,
  }),
);
