/**
 * The argument `userId` of queries and subscriptions, which can name another user. A root field that has it declares
 * `otherUserScope`.
 */
export const userArgument = { description: "The user's ID. Defaults to the caller." };
