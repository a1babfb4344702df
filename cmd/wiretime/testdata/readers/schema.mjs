// Usage: node schema.mjs READERS SCHEMA DOCUMENT : prints as JSON what the document has against the schema, and which of its
// keys the schema does not describe.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [readers, schemaFile, documentFile] = process.argv.slice(2);
const require = createRequire(join(readers, 'package.json'));
const Ajv = require('ajv').default;
const addFormats = require('ajv-formats').default;

// The schema lets documents have further keys, since later versions may add some; today's have none.
const closed = (schema) => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return schema.type === 'object' && schema.properties ? { additionalProperties: false, ...inner } : inner;
};
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
addFormats(ajv);
const validate = ajv.compile(closed(JSON.parse(readFileSync(schemaFile, 'utf8'))));
console.log(JSON.stringify(validate(JSON.parse(readFileSync(documentFile, 'utf8'))) ? [] : validate.errors));
