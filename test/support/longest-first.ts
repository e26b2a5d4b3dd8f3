import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest test files, which start first: otherwise one of them could run alone at the end. */
const longest = [
  'abuse/requests',
  'abuse/fair-reads',
  'abuse/connections',
  'process',
  'shutdown',
  'embedded-postgres',
  'rotate-keys',
  'process-database',
  'commands',
  'database-outage',
  'systemd',
  'redis',
  'live-outage',
  'marked-inputs',
  'npm-start',
  'dev-command',
  'bench-equality',
  'log-output',
  'live-gateways',
  'selected-properties',
  'plans',
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
