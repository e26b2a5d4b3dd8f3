/** Converts a closed list to the values of a GraphQL enum: each member in upper case, with its description. */
export function toEnumValues<Member extends string>(
  members: readonly Member[],
  descriptions: Readonly<Record<NoInfer<Member>, string>>,
) {
  return Object.fromEntries(
    members.map((member) => [member.toUpperCase(), { value: member, description: descriptions[member] }]),
  );
}
