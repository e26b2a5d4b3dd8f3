import { writeFile } from 'node:fs/promises';
import { createOpenApiDocument } from '../openapi/document.ts';
import { schema } from '../schema.ts';

/** Returns the content of `rest/openapi.json`: the document of a gateway at its default address. */
export function formatOpenApi(): string {
  return `${JSON.stringify(createOpenApiDocument(schema, 'http://127.0.0.1:4000'), null, 2)}\n`;
}

if (import.meta.main) await writeFile(new URL('../../rest/openapi.json', import.meta.url), formatOpenApi());
