import type { Access } from '../../src/auth/access.ts';
import { httpStatus } from '../../src/errors/gateway-errors.ts';
import { listSources } from '../argument-sources.ts';
import type { Route } from '../route.ts';
import { type Code, errorDescriptions, formatComponentName } from './error-shapes.ts';
import { pickExamples } from './examples.ts';
import { type Header, quota, toHeaderRefs } from './headers.ts';
import { type Json, reference } from './schemas.ts';

const everyRoute: readonly Code[] = [
  'BAD_REQUEST',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
];

/** Lists the codes that a route can return, by status. Only routes with a path parameter can return `NOT_FOUND`. */
export function listErrorCodes({ bind, body }: Route, { membership }: Access): Map<number, Code[]> {
  const namesRecord = listSources(bind).some(({ from }) => from === 'path');
  const codes: readonly Code[] = [
    ...everyRoute,
    ...(membership ? (['ORG_MEMBERSHIP_REQUIRED'] as const) : []),
    ...(namesRecord ? (['NOT_FOUND'] as const) : []),
    ...(namesRecord || body ? (['VALIDATION_FAILED'] as const) : []),
  ];
  return Map.groupBy(codes, (code) => httpStatus[code]);
}

/** Describes an operation's error response for one status, with its examples. */
export function describeErrors(field: string, codes: readonly Code[]): Json {
  const examples = codes.map((code) => code.toLowerCase()).flatMap((code) => [`${field}.${code}`, code]);
  return {
    description: codes.map((code) => `\`${code.toLowerCase()}\`: ${errorDescriptions[code]}`).join(' '),
    headers: toHeaderRefs(...codes.flatMap(listErrorHeaders)),
    content: {
      'application/json': {
        schema: reference('schemas', formatComponentName(codes)),
        examples: pickExamples(...examples),
      },
    },
  };
}

function listErrorHeaders(code: Code): Header[] {
  switch (code) {
    case 'UNAUTHENTICATED':
      return ['WWW-Authenticate'];
    case 'FORBIDDEN':
      return ['WWW-Authenticate', ...quota];
    case 'RATE_LIMITED':
      return ['Retry-After', ...quota];
    case 'BAD_REQUEST':
    case 'ORG_MEMBERSHIP_REQUIRED':
    case 'NOT_FOUND':
    case 'VALIDATION_FAILED':
    case 'INTERNAL_ERROR':
      return [...quota];
  }
}
