import { expect, test } from 'vitest';
import { routes } from '../../rest/router.ts';
import { grants } from '../../src/auth/scopes.ts';
import { readConfig, settingNames } from '../../src/config.ts';
import { shownDeliveryReasons, shownDeliveryStates } from '../../src/delivery/delivery.enums.ts';
import { httpStatus } from '../../src/errors/gateway-errors.ts';
import { documentLimits } from '../../src/graphql/document-limits.ts';
import { errorDescriptions } from '../../src/openapi/errors.ts';
import { readPage, tableBelow } from '../support/documentation.ts';

/* Tables of the documentation contain the values that the gateway uses. */

const column = (table: readonly string[][], index: number) => table.map((cells) => cells[index] ?? '');

const topics = [
  'Server',
  'Database',
  'Tokens and keys',
  'Rate limits',
  'Live events',
  'Delivery',
  'Restarts',
];
const settings = topics.flatMap((topic) => tableBelow(readPage('docs/configuration.md'), topic));

test('every setting is documented with its default', () => {
  expect(column(settings, 0).sort()).toEqual([...settingNames].sort());

  // Setting a variable to its documented default must not change the configuration.
  const defaults = settings.filter(([, value = '']) => /^[\w.]+$/.test(value) && value !== 'unset');
  expect(defaults.length).toBeGreaterThan(15);
  expect(readConfig(Object.fromEntries(defaults))).toEqual(readConfig({}));
});

test('the documented range of every numeric setting is enforced', () => {
  const accepts = (name: string, value: number) => {
    try {
      readConfig({ [name]: String(value) });
      return true;
    } catch {
      return false;
    }
  };
  const ranges = settings.filter(([, , range]) => range !== '');
  const numeric = settingNames.filter((name) => !accepts(name, 0.5) && accepts(name, 1000));
  expect(ranges.map(([name]) => name)).toEqual(expect.arrayContaining(numeric));
  for (const [name = '', , range] of ranges) {
    const [minimum = Number.NaN, maximum = Number.NaN] = range?.split(' to ').map(Number) ?? [];
    expect([accepts(name, minimum), accepts(name, maximum), accepts(name, maximum + 1)], name).toEqual([
      true,
      true,
      false,
    ]);
    expect(accepts(name, minimum - 1), name).toBe(false);
  }
});

test('every REST path is documented with its status and field', () => {
  const paths = tableBelow(readPage('docs/rest-api.md'), 'Paths').map(([path, success = '', field]) => [
    path,
    Number.parseInt(success, 10),
    field,
  ]);
  const expected = routes.map(({ method, path, reply, field }) => [
    `${method.toUpperCase()} ${path}`,
    reply.status ?? 200,
    field,
  ]);
  expect(paths.sort()).toEqual(expected.sort());
});

test('every error code is documented: in GraphQL, for retries, and in REST with its status', () => {
  const page = readPage('docs/graphql-api.md');
  const all = Object.keys(httpStatus).sort();
  expect([...new Set(column(tableBelow(page, 'Errors'), 0))].sort()).toEqual(all);
  const retries = column(tableBelow(page, 'Retries'), 0).join(', ');
  expect(retries.match(/\b[A-Z_]{4,}\b/g)?.sort()).toEqual(all);
  const rest = tableBelow(readPage('docs/rest-api.md'), 'Errors').map(([status, code]) => [
    code,
    Number(status),
  ]);
  const expected = Object.entries(httpStatus).filter(([code]) => code in errorDescriptions);
  expect(rest.sort()).toEqual(expected.map(([code, status]) => [code.toLowerCase(), status]).sort());
});

test('the documented limits of GraphQL documents are the configured ones', () => {
  const limits = tableBelow(readPage('docs/graphql-api.md'), 'Limits');
  const configured = Object.values(documentLimits).map(({ term, max }) => [term, max.toLocaleString('en')]);
  expect(limits.sort()).toEqual(configured.sort());
});

test('every scope, and every state and reason of deliveries, is documented', () => {
  const scopes = column(tableBelow(readPage('docs/security.md'), 'Tokens and scopes'), 0);
  expect(scopes.sort()).toEqual([...grants.keys()].sort());
  const page = readPage('docs/delivery.md');
  const reasons = column(tableBelow(page, 'States'), 0);
  expect(reasons.sort()).toEqual(shownDeliveryReasons.map((reason) => reason.toUpperCase()).sort());
  for (const state of shownDeliveryStates) expect(page.text).toContain(`\`${state.toUpperCase()}\``);
});
