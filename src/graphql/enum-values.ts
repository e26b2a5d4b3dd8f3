/** The values of a GraphQL enum, made of a closed list: each member in upper case, with its description. */
export function enumValues<Member extends string>(
  members: readonly Member[],
  descriptions: Readonly<Record<NoInfer<Member>, string>>,
) {
  return Object.fromEntries(
    members.map((member) => [member.toUpperCase(), { value: member, description: descriptions[member] }]),
  );
}
