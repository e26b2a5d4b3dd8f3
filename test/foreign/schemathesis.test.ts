import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';
import { hasPython, runSchemathesis } from './tools.ts';

/** Test cases per operation. With 1400 there are 10,000 in total, which takes half an hour. */
const MAX_EXAMPLES = process.env.SCHEMATHESIS_MAX_EXAMPLES ?? '15';

const gateway = useGateway();

/** All checks except `unsupported_method`, which expects 405; the specification requires 404 for unknown methods. */
const options = [
  ...['--checks', 'all', '--exclude-checks', 'unsupported_method'],
  ...['--max-examples', MAX_EXAMPLES, '--generation-deterministic', '--no-color'],
];

test.skipIf(!hasPython)(
  'Schemathesis finds no difference between the gateway and its OpenAPI document',
  async () => {
    await publish(gateway, 'alice', 'task_failed', { id: 'known' });
    const authorization = ['--header', `Authorization: Bearer ${await member('alice')}`];
    const report = await runSchemathesis(`${gateway.address}/openapi.json`, [...authorization, ...options]);
    expect(report).toMatch(/(\d+) selected \/ \1 total/);
    expect(report).toContain('No issues found');
  },
  3_600_000,
);
