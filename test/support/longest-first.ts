import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest test files, which start first: otherwise one of them could run alone at the end.
 */
const longest = [
  'delivery-sender',
  'long-lists',
  'delivery-unknown-results',
  'platform-plans',
  'shutdown',
  'systemd',
  'key-set-readiness',
  'abuse/requests',
  'abuse/connections',
  'abuse/rate-limit-floods',
  'embedded-postgres',
  'process',
  'rotate-keys',
  'process-database',
  'commands',
  'marked-inputs',
  'log-output',
  'database-outage',
  'dev-command',
  'npm-start',
  'live-outage',
  'plans',
  'compiled-operations',
  'slow-subscriber',
  'live-announcements',
  'redis',
  'selected-properties',
  'abuse/unread-streams',
  'live-gateways',
  'timeouts',
  'changes-property',
  'compiled-equality',
  'documentation-examples',
  'live-property',
  'web-client',
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
