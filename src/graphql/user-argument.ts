/** The argument of account reads that names another user; a root field with it declares `otherUserScope`. */
export const userArgument = { description: "The user's ID. Defaults to the caller." };
