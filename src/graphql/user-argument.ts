/** The argument of account reads that names another user. A root field that has it declares `otherUserScope`. */
export const userArgument = { description: "The user's ID. Defaults to the caller." };
