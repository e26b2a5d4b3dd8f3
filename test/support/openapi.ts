import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/*
 * The committed OpenAPI document, which every reply of every REST test is held against: what it tells callers is
 * what is served.
 */

type Ref = { $ref: string };
type Header = { required?: boolean; schema: { type?: string } };
type Response = { headers: Record<string, Ref>; content?: object };
type Operation = {
  operationId: string;
  description: string;
  security: { bearer: string[] }[];
  parameters?: ({ name: string; in: string } | Ref)[];
  requestBody?: object;
  responses: Record<string, Response | Ref>;
};

/** As much of the document's structure as tests look at. */
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
// To a validator of JSON Schema the document is a schema with words of its own.
ajv.addVocabulary(['discriminator', ...Object.keys(openApi)]).addSchema(openApi, 'openapi', undefined, false);
const compiled = new Map<string, ValidateFunction>();

/** Validates by the schema at a place of the document. */
export function validatorAt(...place: readonly string[]): ValidateFunction {
  const pointer = place.map((step) => `/${encodeURIComponent(step.replaceAll('/', '~1'))}`).join('');
  const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` });
  compiled.set(pointer, validate);
  return validate;
}

/** Validates bodies of an operation's response. */
export function bodyValidator(path: string, method: string, status: number): ValidateFunction {
  const name = formatComponentName(openApi.paths[path]?.[method]?.responses[status]);
  const place =
    name === undefined
      ? ['paths', path, method, 'responses', String(status)]
      : ['components', 'responses', name];
  return validatorAt(...place, 'content', 'application/json', 'schema');
}

/** Throws unless the document tells of this reply to this request. Other addresses are not of the document. */
export function holdAgainstDocument(
  request: { method: string; path: string },
  reply: { status: number; headers: Headers; text: string },
): void {
  const what = `${request.method} ${request.path} -> ${reply.status} ${reply.text.slice(0, 2000)}`;
  const method = request.method.toLowerCase();
  const path = Object.keys(openApi.paths).find((template) => fits(template, request.path));
  const operation = path === undefined ? undefined : openApi.paths[path]?.[method];
  if (path === undefined || operation === undefined) return;
  const response = responseOf(operation, reply.status);
  if (response === undefined) throw new Error(`The document knows no such reply: ${what}`);
  const { headers, content } = response;
  const issues = headerErrors(headers, reply.headers);
  if (content === undefined && reply.text !== '') issues.push('there must be no body');
  if (content !== undefined) {
    const validate = bodyValidator(path, method, reply.status);
    if (!validate(JSON.parse(reply.text))) issues.push(ajv.errorsText(validate.errors));
  }
  if (issues.length > 0) throw new Error(`Not as the document tells: ${issues.join('; ')}: ${what}`);
}

/** The response that an operation tells of; undefined where it knows no such status. */
export function responseOf(operation: Operation, status: number): Response | undefined {
  const response = operation.responses[status];
  if (response === undefined || !('$ref' in response)) return response;
  return openApi.components.responses[formatComponentName(response) ?? ''];
}

function headerErrors(told: Record<string, Ref>, headers: Headers): string[] {
  return Object.entries(openApi.components.headers).flatMap(([name, { required, schema }]) => {
    const value = headers.get(name);
    if (!(name in told)) return value === null ? [] : [`the header ${name} is not told of`];
    if (value === null) return required ? [`the header ${name} is missing`] : [];
    const validate = validatorAt('components', 'headers', name, 'schema');
    return validate(schema.type === 'integer' ? Number(value) : value)
      ? []
      : [`the header ${name} is ${value}`];
  });
}

function fits(template: string, address: string): boolean {
  const [path = ''] = address.split('?', 1);
  return new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]*')}$`).test(path);
}

/** The name of the component that is referred to; undefined where there is no reference. */
function formatComponentName(thing: object | undefined): string | undefined {
  return thing !== undefined && '$ref' in thing ? String(thing.$ref).split('/').at(-1) : undefined;
}
