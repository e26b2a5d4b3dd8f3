import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { AnyValidateFunction } from 'ajv/dist/types/index.js';
import formats from 'ajv-formats';

/* The committed OpenAPI document, against which every reply of every REST test is checked. */

type Ref = { $ref: string };
type Header = { required?: boolean; schema: { type?: string } };
type Response = { headers?: Record<string, Ref>; content?: object };
type Operation = {
  operationId: string;
  description: string;
  security: { bearer: string[] }[];
  parameters?: ({ name: string; in: string } | Ref)[];
  requestBody?: object;
  responses: Record<string, Response | Ref>;
};

/** The parts of the document's structure that tests read. */
type OpenApi = {
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, object>;
    headers: Record<string, Header>;
    responses: Record<string, Response>;
  };
};

export const openApi: OpenApi = JSON.parse(
  readFileSync(new URL('../../rest/openapi.json', import.meta.url), 'utf8'),
);

/** Every operation of the document. */
export const operations = Object.entries(openApi.paths).flatMap(([path, byMethod]) =>
  Object.entries(byMethod).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
formats.default(ajv);
// To a JSON Schema validator, OpenAPI's own keywords are an additional vocabulary.
ajv.addVocabulary(['discriminator', ...Object.keys(openApi)]).addSchema(openApi, 'openapi', undefined, false);

/** Returns the validator of the schema at a position of the document. */
export function getValidator(...place: readonly string[]): AnyValidateFunction {
  const pointer = place.map((step) => `/${encodeURIComponent(step.replaceAll('/', '~1'))}`).join('');
  const validate = ajv.getSchema(`openapi#${pointer}`);
  if (validate === undefined) throw new Error(`The document has no ${pointer}.`);
  return validate;
}

/** Returns the validator of an operation's response body. */
export function getBodyValidator(path: string, method: string, status: number): AnyValidateFunction {
  const name = componentOf(openApi.paths[path]?.[method]?.responses[status]);
  const place = name ? ['components', 'responses', name] : ['paths', path, method, 'responses', `${status}`];
  return getValidator(...place, 'content', 'application/json', 'schema');
}

/** Throws unless the document describes this reply to this request. Ignores paths that are not in the document. */
export function checkAgainstOpenApi(
  request: { method: string; path: string },
  reply: { status: number; headers: Headers; text: string },
): void {
  const what = `${request.method} ${request.path} -> ${reply.status} ${reply.text.slice(0, 2000)}`;
  const method = request.method.toLowerCase();
  const [address = ''] = request.path.split('?', 1);
  const found = operations.find((one) => one.method === request.method && toPattern(one.path).test(address));
  if (found === undefined) return;
  const { path, operation } = found;
  const response = findResponse(operation, reply.status);
  if (response === undefined) throw new Error(`The document describes no such reply: ${what}`);
  const { headers = {}, content } = response;
  const issues = headerErrors(headers, reply);
  if (content === undefined && reply.text !== '') issues.push('there must be no body');
  if (content !== undefined) {
    const validate = getBodyValidator(path, method, reply.status);
    if (!validate(JSON.parse(reply.text))) issues.push(ajv.errorsText(validate.errors));
  }
  if (issues.length > 0)
    throw new Error(`The reply does not match the document: ${issues.join('; ')}: ${what}`);
}

/** Returns the documented response with this status, if any. */
export function findResponse(operation: Operation, status: number): Response | undefined {
  const response = operation.responses[status];
  if (response === undefined || !('$ref' in response)) return response;
  return openApi.components.responses[componentOf(response) ?? ''];
}

/** Headers that errors have too, although only the introduction says so. */
const commonHeaders = ['X-Request-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

function headerErrors(
  documented: Record<string, Ref>,
  { status, headers }: { status: number; headers: Headers },
): string[] {
  return Object.entries(openApi.components.headers).flatMap(([name, { required, schema }]) => {
    const value = headers.get(name);
    const isRetried = status === 500 && name === 'Retry-After';
    const isCommon = isRetried || (status >= 400 && commonHeaders.includes(name));
    if (!(name in documented) && !isCommon)
      return value === null ? [] : [`the header ${name} is not documented`];
    if (value === null) return required && !isCommon ? [`the header ${name} is missing`] : [];
    const validate = getValidator('components', 'headers', name, 'schema');
    return validate(schema.type === 'integer' ? Number(value) : value)
      ? []
      : [`the header ${name} is ${value}`];
  });
}

const toPattern = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]*')}$`);

/** Returns the name of the referenced component, if there is a reference. */
function componentOf(thing: object | undefined): string | undefined {
  return thing !== undefined && '$ref' in thing ? String(thing.$ref).split('/').at(-1) : undefined;
}
