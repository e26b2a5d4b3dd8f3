import { accountRead, platform } from '../auth/access.ts';
import type { Database } from '../database/database.ts';
import { builder } from '../graphql/builder.ts';
import { defineSingletonRef } from '../graphql/record-ref.ts';
import { memberIdRule } from '../graphql/rules.ts';
import { UserRef } from '../users/user.graphql.ts';
import type { Contact } from './contact.entity.ts';
import { findContact, maskEmail, maskMemberId, putContact } from './contacts.ts';

type ShownContact = Omit<Contact, 'createdAt' | 'updatedAt'>;

const ContactType = builder.objectRef<ShownContact>('Contact').implement({
  description: 'The masked addresses at which a user receives email and chat notifications.',
  fields: (t) => ({
    userId: t.exposeID('userId', { description: "The user's ID." }),
    ref: t.field(defineSingletonRef<ShownContact>('Contact')),
    email: t.field({
      type: 'EmailAddress',
      nullable: true,
      description:
        'The email address, masked except for its first character and domain: `a***@example.com`. A single character before the `@` is masked too. `null` if there is none.',
      resolve: ({ email }) => email && maskEmail(email),
    }),
    emailSuspendedAt: t.expose('emailSuspendedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Timestamp at which the address was suspended, because the provider permanently rejected it. `null` if it is not suspended.',
    }),
    chatMemberId: t.string({
      nullable: true,
      description:
        'The member ID in the chat, masked except for its last three characters: `***3CD`. An ID of fewer than 8 characters is masked completely. `null` if there is none.',
      resolve: ({ chatMemberId }) => chatMemberId && maskMemberId(chatMemberId),
    }),
    chatSuspendedAt: t.expose('chatSuspendedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Timestamp at which the chat member was suspended, because the provider permanently rejected it. `null` if it is not suspended.',
    }),
  }),
});

builder.queryField('contact', (t) =>
  t.field({
    access: accountRead,
    type: ContactType,
    nullable: true,
    description:
      "Returns the caller's contact. All fields but `userId` and `ref` are `null` if none is stored.",
    resolve: (_root, _args, { database, viewer }) => readContact(database, viewer.userId),
  }),
);

builder.objectField(UserRef, 'contact', (t) =>
  t.field({
    access: accountRead,
    type: ContactType,
    nullable: true,
    description: "The user's contact. All fields but `userId` and `ref` are `null` if none is stored.",
    resolve: ({ userId }, _args, { database }) => readContact(database, userId),
  }),
);

async function readContact(database: Database, userId: string): Promise<ShownContact> {
  return (
    (await findContact(database, userId)) ?? {
      userId,
      email: null,
      emailSuspendedAt: null,
      chatMemberId: null,
      chatSuspendedAt: null,
    }
  );
}

const PutContactInput = builder.inputType('PutContactInput', {
  description:
    "A user's contact. The platform must have verified that the address and the member ID belong to the user.",
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    email: t.field({
      type: 'EmailAddress',
      description: 'The email address. If omitted or `null`, the user receives no email.',
    }),
    chatMemberId: t.field({
      type: 'Secret',
      description:
        'The member ID in the chat, such as `U012AB3CD`: 1 to 255 printable ASCII characters without spaces and `!#<>@`. IDs of Slack channels and conversations are rejected: `C`, `G` or `D`, followed by at least 8 capital letters or digits. If omitted or `null`, the user receives no chat messages.',
      validate: memberIdRule,
    }),
  }),
});

const PutContactPayload = builder.objectRef<{ contact: ShownContact }>('PutContactPayload').implement({
  description: 'Result of storing a contact.',
  fields: (t) => ({
    contact: t.expose('contact', { type: ContactType, description: 'The stored contact.' }),
  }),
});

builder.mutationField('putContact', (t) =>
  t.field({
    access: platform('platform:contacts'),
    type: PutContactPayload,
    nullable: true,
    description:
      "Replaces a user's contact. Cancels deliveries to a target that is removed. Suspensions end, even if the target did not change.",
    args: {
      input: t.arg({ type: PutContactInput, required: true, description: 'The contact to store.' }),
    },
    resolve: async (_root, { input }, context) => {
      const { userId, email = null, chatMemberId = null } = input;
      return { contact: await putContact(context, userId, { email, chatMemberId }, context.now) };
    },
  }),
);
