/** The channel that changes are announced on, inside the transaction that makes them. */
export const CHANNEL = 'account_changes';

/** A statement of a trigger that announces a change; what is rolled back is never announced. */
export function announce(topic: string, user: string, revision?: string): string {
  const members = [
    `'topic', '${topic}'`,
    `'user', ${user}`,
    ...(revision ? [`'revision', ${revision}`] : []),
  ];
  return `perform pg_notify('${CHANNEL}', json_build_object(${members.join(', ')})::text);`;
}
