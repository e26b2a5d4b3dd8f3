import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest test files, which start first: otherwise one of them could run alone at the end.
 */
const longest = [
  'delivery/sender',
  'rest/long-lists',
  'delivery/unknown-results',
  'database/platform-plans',
  'operations/shutdown',
  'docs/systemd',
  'auth/key-set-readiness',
  'abuse/requests',
  'abuse/connections',
  'abuse/rate-limit-floods',
  'database/embedded-postgres',
  'operations/process',
  'editor-auth/rotate-keys',
  'database/process-database',
  'operations/commands',
  'rest/marked-inputs',
  'operations/log-output',
  'database/outage',
  'operations/dev-command',
  'operations/npm-start',
  'live/outage',
  'database/plans',
  'graphql/compiled-operations',
  'live/slow-subscriber',
  'live/announcements',
  'limits/redis',
  'graphql/selected-properties',
  'abuse/unread-streams',
  'live/gateways',
  'limits/timeouts',
  'database/changes-property',
  'graphql/compiled-equality',
  'docs/examples',
  'live/property',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const index = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return index === -1 ? longest.length : index;
}
